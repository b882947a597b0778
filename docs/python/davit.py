# SPDX-License-Identifier: Apache-2.0
"""davit for Python: NumPy arrays in, NumPy arrays out. One file, to be copied or put into PYTHONPATH.

    import numpy as np, davit
    c = davit.gemm(np.random.rand(2000, 3000), np.random.rand(3000, 1000))

Every function takes `devices`, a list of device numbers (davit.HOST is the CPU); None: davit's own choice, the GPUs
where there are any. Arrays may be in C or in Fortran order, neither is copied; others are. A failure is a
davit.Error with davit's sentence. During a call other Python threads run. The library is libdavit.so.0 where the
dynamic linker finds it, or the file that the environment variable DAVIT_LIBRARY names.
"""
import collections
import ctypes
import os
from ctypes import POINTER, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint64, c_void_p

import numpy as np

HOST = -1

_library = ctypes.CDLL(os.environ.get("DAVIT_LIBRARY", "libdavit.so.0"))
_TYPES = {np.dtype(name): i for i, name in enumerate(("f4", "f8", "i4", "i8", "c8", "c16"))}  # davit_type
_LETTERS = {np.dtype("f4"): ("s", c_float), np.dtype("f8"): ("d", c_double)}  # BLAS' letter, and what a factor is
_OPERATORS = ("sum", "prod", "min", "max")  # davit_operator
_BORDERS = ("untouched", "copy", "zero")  # davit_stencil_border
_ALGORITHMS = ("auto", "brute", "divide", "grid")  # davit_closest_pair_algorithm


class Error(RuntimeError):
    """A call of davit failed; `status` is its davit_status."""

    def __init__(self, status, sentence):
        super().__init__(sentence)
        self.status = status


# ---- structs of the headers ----


def _struct(name, *members):
    return type(name, (ctypes.Structure,), {"_fields_": list(members)})


_WHERE = ("devices", POINTER(c_int)), ("device_count", c_int)
_OPTIONS = {name: _struct(f"davit_{name}_options", *_WHERE, ("reserved", c_uint64 * 4))
            for name in ("gemv", "axpy", "dot", "reduce", "scan", "atax")}
_OPTIONS["level3"] = _struct("davit_level3_options", *_WHERE, ("tile", c_int64), ("cache_bytes", c_size_t),
                             ("separate_memory", ctypes.c_bool), ("report", c_void_p), ("explanation", c_void_p),
                             ("progress", c_void_p), ("progress_context", c_void_p), ("reserved", c_uint64 * 3))
_OPTIONS["stencil"] = _struct("davit_stencil_options", *_WHERE, ("border", c_int), ("reserved", c_uint64 * 4))
_OPTIONS["covariance"] = _struct("davit_covariance_options", *_WHERE, ("mean_divisor", c_double), ("divisor", c_double),
                                 ("form", c_int), ("reserved", c_uint64 * 4))
_OPTIONS["closest_pair"] = _struct("davit_closest_pair_options", *_WHERE, ("algorithm", c_int), ("reserved", c_uint64 * 4))
_OPTIONS["features"] = _struct("davit_features_options", ("rate", c_double), ("frame", c_int64), ("binning", c_int),
                               ("reserved", c_uint64 * 4))
_DeviceInfo = _struct("davit_device_info", ("device", c_int), ("kind", c_int), ("name", c_char * 96), ("memory_bytes", c_size_t),
                      ("compute_units", c_int), ("compute_capability", c_int), ("bus", c_char * 32), ("reserved", c_uint64 * 4))
_Pair = _struct("davit_closest_pair_result", ("i", c_int64), ("j", c_int64), ("distance", c_double))
_TraceOptions = _struct("davit_align_trace_options", ("devices", c_void_p), ("device_count", c_int), ("mode", c_int),
                        ("reserved", c_uint64 * 4))
_MODES = ("local", "global", "semiglobal")
_Scoring = _struct("davit_align_scoring", ("symbols", c_int), ("matrix", c_void_p), ("gap_open", c_int32),
                   ("gap_extend", c_int32), ("reserved", c_uint64 * 4))
_Matrix = _struct("davit_align_matrix", ("name", c_char * 16), ("symbols", c_int), ("letters", c_char * 33),
                  ("code", c_uint8 * 256), ("scores", ctypes.c_int8 * 1024), ("reserved", c_uint64 * 4))
_Result = _struct("davit_align_result", ("score", c_int32), ("query_begin", c_int64), ("query_end", c_int64),
                  ("target_begin", c_int64), ("target_end", c_int64), ("reserved", c_uint64 * 2))
STRUCTS = (*_OPTIONS.values(), _DeviceInfo, _Pair, _Scoring, _Matrix, _Result)


def _options(name, devices, **members):
    """The options of a call, which keep the list of devices alive."""
    options = _OPTIONS[name](**members)
    if devices is not None:
        options.devices, options.device_count = (c_int * len(devices))(*devices), len(devices)
    return ctypes.byref(options)


# ---- functions of the library ----


def _check(status, function, arguments):
    if status != 0:
        raise Error(status, _library.davit_last_error().decode())


def _text(name, *types):
    function = getattr(_library, name)
    function.restype, function.argtypes = c_char_p, types
    return function


def _declare(name, *types):
    function = getattr(_library, name)
    function.restype, function.argtypes, function.errcheck = c_int, types, _check
    return function


_array, _size = c_void_p, c_int64
_text("davit_last_error")
_version, _kind_string = _text("davit_version"), _text("davit_device_kind_string", c_int)
_device_count = _declare("davit_device_count", POINTER(c_int))
_device_describe = _declare("davit_device_describe", c_int, c_void_p)
_set_threads = _declare("davit_set_threads", c_int)
_free = _declare("davit_free", c_void_p)
_gemm, _gemv, _axpy, _dot = {}, {}, {}, {}
for _type, (_letter, _factor) in _LETTERS.items():
    _gemm[_type] = _declare(f"davit_{_letter}gemm", c_char, c_char, _size, _size, _size, _factor, _array, _size, _array, _size,
                            _factor, _array, _size, c_void_p)
    _gemv[_type] = _declare(f"davit_{_letter}gemv", c_char, _size, _size, _factor, _array, _size, _array, _size, _factor,
                            _array, _size, c_void_p)
    _axpy[_type] = _declare(f"davit_{_letter}axpy", _size, _factor, _array, _size, _array, _size, c_void_p)
    _dot[_type] = _declare(f"davit_{_letter}dot", _size, _array, _size, _array, _size, _array, c_void_p)
_reduce = _declare("davit_reduce", c_int, c_int, _size, _array, _array, c_void_p)
_scan = _declare("davit_scan", c_int, c_int, c_int, _size, _array, _array, c_void_p)
_segmented_scan = _declare("davit_segmented_scan", c_int, c_int, c_int, _size, _array, _array, _array, c_void_p)
_stencil = _declare("davit_stencil", c_int, _size, _size, _array, _size, _array, _array, _size, c_void_p)
_atax = _declare("davit_atax", c_int, c_char, _size, _size, _array, _size, _array, _array, _array, c_void_p)
_covariance = _declare("davit_covariance", c_int, c_char, _size, _size, _array, _size, _array, _array, _size, _array, _size,
                       c_void_p)
_closest_pairs = _declare("davit_closest_pairs", c_int, c_int, _size, _array, _size, c_double, _array, c_void_p, c_void_p)
_closest_pairs_count = _declare("davit_closest_pairs_count", c_int, c_int, _size, _array, c_double, c_void_p, c_void_p)
_closest_pair = _declare("davit_closest_pair", c_int, c_int, _size, _array, c_void_p, c_void_p)
_features = _declare("davit_features", _size, _array, _array, c_void_p)
_align_matrix_find = _declare("davit_align_matrix_find", c_char_p, c_void_p)
_align_trace = _declare("davit_align_trace", c_void_p, _size, _array, _size, _array, c_void_p, POINTER(c_void_p), c_void_p)

# ---- arrays ----


def _typed(x, allowed, name, ndim):
    x = np.asarray(x)
    if x.dtype not in allowed or x.ndim != ndim:
        raise TypeError(f"{name} has {x.ndim} dimensions of {x.dtype}; {ndim} of "
                        f"{' or '.join(str(kind) for kind in allowed)} are wanted")
    return x


def _alike(x, kind, name, ndim, shape=None):
    x = _typed(x, [kind], name, ndim)
    if shape is not None and x.shape != shape:
        raise ValueError(f"{name} has the shape {x.shape}, not {shape}")
    return x


def _stored(a):
    """(array to pass, whether davit sees its transpose, leading dimension)."""
    if a.flags.f_contiguous:
        return a, False, max(1, a.shape[0])
    a = np.ascontiguousarray(a)
    return a, True, max(1, a.shape[1])


def _letter_of(trans, name):
    if trans not in ("N", "T"):
        raise ValueError(f"{name} is {trans!r}, neither 'N' nor 'T'")
    return trans


def _flipped(trans, transposed):
    return (b"T" if trans == "N" else b"N") if transposed else trans.encode()


def _operator(op):
    if op not in _OPERATORS:
        raise ValueError(f"op is {op!r}, none of {', '.join(_OPERATORS)}")
    return _OPERATORS.index(op)


_FLOATING = list(_LETTERS)
_NUMBERS = list(_TYPES)[:4]

# ---- the interface ----

Device = collections.namedtuple("Device", "number kind name memory_bytes compute_units compute_capability bus")
Pair = collections.namedtuple("Pair", "i j distance")
Alignment = collections.namedtuple("Alignment", "score query_begin query_end target_begin target_end cigar")


def version():
    return _version().decode()


def devices():
    """The host and all devices."""
    count, info, found = c_int(), _DeviceInfo(), []
    _device_count(ctypes.byref(count))
    for number in range(HOST, count.value):
        _device_describe(number, ctypes.byref(info))
        found.append(Device(number, _kind_string(info.kind).decode(), info.name.decode(), info.memory_bytes,
                            info.compute_units, info.compute_capability, info.bus.decode()))
    return found


def set_threads(threads):
    """How many host threads davit computes on; 0: its own choice."""
    _set_threads(threads)


def gemm(a, b, *, alpha=1, beta=0, c=None, transa="N", transb="N", devices=None):
    """alpha op(a) @ op(b) + beta c, op being the matrix ("N") or its transpose ("T"). float64 or float32."""
    a = _typed(a, _FLOATING, "a", 2)
    b = _alike(b, a.dtype, "b", 2)
    (m, k), (l, n) = (x.shape if _letter_of(trans, name) == "N" else x.shape[::-1]
                      for x, trans, name in ((a, transa, "transa"), (b, transb, "transb")))
    if k != l:
        raise ValueError(f"op(a) has {k} columns, op(b) {l} rows")
    result = np.empty((m, n), a.dtype, order="F")
    if c is not None:
        result[...] = _alike(c, a.dtype, "c", 2, (m, n))
    (a, a_flipped, lda), (b, b_flipped, ldb) = _stored(a), _stored(b)
    _gemm[a.dtype](_flipped(transa, a_flipped), _flipped(transb, b_flipped), m, n, k, alpha, a.ctypes.data, lda, b.ctypes.data,
                   ldb, beta if c is not None else 0, result.ctypes.data, max(1, m), _options("level3", devices))
    return result


def gemv(a, x, *, alpha=1, beta=0, y=None, trans="N", devices=None):
    """alpha op(a) @ x + beta y."""
    a = _typed(a, _FLOATING, "a", 2)
    rows, cols = a.shape if _letter_of(trans, "trans") == "N" else a.shape[::-1]
    x = np.ascontiguousarray(_alike(x, a.dtype, "x", 1, (cols,)))
    result = np.empty(rows, a.dtype)
    if y is not None:
        result[...] = _alike(y, a.dtype, "y", 1, (rows,))
    stored, flipped, lda = _stored(a)
    m, n = a.shape[::-1] if flipped else a.shape
    _gemv[a.dtype](_flipped(trans, flipped), m, n, alpha, stored.ctypes.data, lda, x.ctypes.data, 1,
                   beta if y is not None else 0, result.ctypes.data, 1, _options("gemv", devices))
    return result


def axpy(alpha, x, y, *, devices=None):
    """alpha x + y."""
    x = np.ascontiguousarray(_typed(x, _FLOATING, "x", 1))
    result = np.array(_alike(y, x.dtype, "y", 1, x.shape))
    _axpy[x.dtype](x.size, alpha, x.ctypes.data, 1, result.ctypes.data, 1, _options("axpy", devices))
    return result


def dot(x, y, *, devices=None):
    x = np.ascontiguousarray(_typed(x, _FLOATING, "x", 1))
    y = np.ascontiguousarray(_alike(y, x.dtype, "y", 1, x.shape))
    result = np.zeros((), x.dtype)
    _dot[x.dtype](x.size, x.ctypes.data, 1, y.ctypes.data, 1, result.ctypes.data, _options("dot", devices))
    return result[()]


def reduce(x, op="sum", *, devices=None):
    """The sum, "prod", "min" or "max" of all elements: float64, float32, int64 or int32. The same bits everywhere."""
    x = _typed(x, _NUMBERS, "x", np.ndim(x))
    x = x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x)
    result = np.zeros((), x.dtype)
    _reduce(_operator(op), _TYPES[x.dtype], x.size, x.ctypes.data, result.ctypes.data, _options("reduce", devices))
    return result[()]


def scan(x, op="sum", *, exclusive=False, flags=None, devices=None):
    """Prefix sums, products, minima or maxima; with `flags` of segments, which begin where a flag is not 0."""
    x = np.ascontiguousarray(_typed(x, _NUMBERS, "x", 1))
    result, where = np.empty_like(x), _options("scan", devices)
    arguments = _operator(op), _TYPES[x.dtype], int(exclusive), x.size, x.ctypes.data
    if flags is None:
        _scan(*arguments, result.ctypes.data, where)
    else:
        flags = np.ascontiguousarray(np.asarray(flags) != 0).view(np.uint8)
        _alike(flags, np.dtype("u1"), "flags", 1, x.shape)
        _segmented_scan(*arguments, flags.ctypes.data, result.ctypes.data, where)
    return result


def stencil(a, coefficients, *, border="copy", devices=None):
    """The sum of coefficients[r, c] a[i + r - 1, j + c - 1]; the border of the result is a's ("copy") or "zero"."""
    a = _typed(a, _FLOATING, "a", 2)
    coefficients = _alike(np.asarray(coefficients, np.float64), np.dtype("f8"), "coefficients", 2, (3, 3))
    if border not in _BORDERS[1:]:
        raise ValueError(f"border is {border!r}, neither 'copy' nor 'zero'")
    stored, flipped, ld = _stored(a)
    rows, cols = a.shape[::-1] if flipped else a.shape
    factors = np.ascontiguousarray(coefficients if flipped else coefficients.T)
    result = np.empty_like(stored)
    _stencil(_TYPES[a.dtype], rows, cols, stored.ctypes.data, ld, factors.ctypes.data, result.ctypes.data, ld,
             _options("stencil", devices, border=_BORDERS.index(border)))
    return result


def atax(a, x, *, devices=None):
    """a.T @ (a @ x)."""
    a = _typed(a, _FLOATING, "a", 2)
    x = np.ascontiguousarray(_alike(x, a.dtype, "x", 1, (a.shape[1],)))
    stored, flipped, lda = _stored(a)
    m, n = a.shape[::-1] if flipped else a.shape
    result = np.empty(a.shape[1], a.dtype)
    _atax(_TYPES[a.dtype], b"T" if flipped else b"N", m, n, stored.ctypes.data, lda, x.ctypes.data, None, result.ctypes.data,
          _options("atax", devices))
    return result


def covariance(d, *, divisor=0, mean_divisor=0, devices=None):
    """The covariance matrix of the columns of d, whose rows are observations. Divisors of 0: rows - 1 and rows."""
    d = _typed(d, _FLOATING, "d", 2)
    rows, cols = d.shape
    stored, flipped, ldd = _stored(d)
    result = np.empty((cols, cols), d.dtype, order="F")
    _covariance(_TYPES[d.dtype], b"T" if flipped else b"N", rows, cols, stored.ctypes.data, ldd, None, None, ldd,
                result.ctypes.data, max(1, cols), _options("covariance", devices, divisor=divisor, mean_divisor=mean_divisor))
    return result


def closest_pair(points, *, algorithm="auto", devices=None):
    """The closest two of n points in two or three dimensions, an array of n rows: Pair(i, j, distance), i < j."""
    points = np.ascontiguousarray(_typed(points, _FLOATING, "points", 2))
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"algorithm is {algorithm!r}, none of {', '.join(_ALGORITHMS)}")
    result = _Pair()
    _closest_pair(_TYPES[points.dtype], points.shape[1], points.shape[0], points.ctypes.data, ctypes.byref(result),
                  _options("closest_pair", devices, algorithm=_ALGORITHMS.index(algorithm)))
    return Pair(result.i, result.j, result.distance)


def closest_pairs(points, k=None, radius=np.inf, *, algorithm="auto", devices=None):
    """The first k of all pairs no farther apart than radius, in the order of (distance, i, j); k None: all of them. Arrays
    of i, of j, and of the distances."""
    points = np.ascontiguousarray(_typed(points, _FLOATING, "points", 2))
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"algorithm is {algorithm!r}, none of {', '.join(_ALGORITHMS)}")
    what = _TYPES[points.dtype], points.shape[1], points.shape[0], points.ctypes.data
    options, count = _options("closest_pair", devices, algorithm=_ALGORITHMS.index(algorithm)), c_int64()
    if k is None:
        _closest_pairs_count(*what, radius, ctypes.byref(count), options)
        k = max(1, count.value)
    pairs = np.empty(min(k, points.shape[0] * (points.shape[0] - 1) // 2), [("i", "i8"), ("j", "i8"), ("distance", "f8")])
    _closest_pairs(*what, k, radius, pairs.ctypes.data, ctypes.byref(count), options)
    pairs = pairs[:count.value]
    return pairs["i"], pairs["j"], pairs["distance"]


def features(samples, *, rate=22050, frame=1024):
    """62 features of each frame of a sound: 31 bands, and their changes to the next frame. On the CPU."""
    samples = np.ascontiguousarray(np.asarray(samples, np.float32))
    _alike(samples, np.dtype("f4"), "samples", 1)
    result = np.empty((samples.size // max(1, int(frame)), 62), np.float32)
    _features(samples.size, samples.ctypes.data, result.ctypes.data, _options("features", None, rate=rate, frame=frame))
    return result


def align(query, target, *, matrix="BLOSUM62", gap_open=11, gap_extend=1, mode="local"):
    """The best alignment of two texts, local, global or semiglobal, by one of davit's matrices (NUC.4.4 for bases), on the
    CPU. The cigar has runs of = (equal), X (different), I (in the query alone) and D (in the target alone)."""
    found, result, cigar = _Matrix(), _Result(), c_void_p()
    _align_matrix_find(matrix.encode(), ctypes.byref(found))
    codes = np.frombuffer(found.code, np.uint8)
    symbols = [np.ascontiguousarray(codes[np.frombuffer(text.encode("latin-1"), np.uint8)]) for text in (query, target)]
    scoring = _Scoring(found.symbols, ctypes.addressof(found.scores), gap_open, gap_extend)
    (q, t) = symbols
    _align_trace(ctypes.byref(scoring), q.size, q.ctypes.data, t.size, t.ctypes.data, ctypes.byref(result), ctypes.byref(cigar),
                 ctypes.byref(_TraceOptions(mode=_MODES.index(mode))))
    text = ctypes.string_at(cigar).decode()
    _free(cigar)
    return Alignment(result.score, result.query_begin, result.query_end, result.target_begin, result.target_end, text)
