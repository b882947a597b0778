# SPDX-License-Identifier: Apache-2.0
"""davit for Python: NumPy arrays in, NumPy arrays out. One file, to be copied or put into PYTHONPATH.

    import numpy as np, davit
    c = davit.gemm(np.random.rand(2000, 3000), np.random.rand(3000, 1000))

Every function takes `devices`, a list of device numbers (davit.HOST is the CPU); None: davit's own choice, the GPUs
where there are any. Arrays may be in C or in Fortran order, neither is copied; others are. A failure is a
davit.Error with davit's sentence. During a call other Python threads run. The library is libdavit.so.0 where the
dynamic linker finds it, or the file that the environment variable DAVIT_LIBRARY names.

Types are NumPy's: operands of several types, or in the other byte order, are converted to the type that NumPy computes
in, and results have the type that NumPy's have. What that type is not among a function's is a TypeError that names
them. float16 is computed in float32 and rounded once. Masked elements are a TypeError: a mask is never dropped. Whole
numbers are not cut: a parameter beyond C's type is an OverflowError, and an element that float64 does not hold exactly,
where whole numbers are taken as float64, a ValueError.
"""
import collections
import ctypes
import math
import operator
import os
from ctypes import POINTER, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

import numpy as np

__all__ = ["HOST", "Error", "Device", "Pair", "Alignment", "version", "devices", "set_threads", "gemm", "gemv", "axpy", "dot",
           "reduce", "scan", "stencil", "atax", "covariance", "closest_pair", "closest_pairs", "features", "is_dna", "align"]

HOST = -1


def _load(name):
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"davit's library {name} cannot be loaded ({error}); the environment variable DAVIT_LIBRARY names "
                          "its file") from error


_FILE = os.environ.get("DAVIT_LIBRARY") or "libdavit.so.0"
_library = _load(_FILE)
_TYPES = {np.dtype(name): i for i, name in enumerate(("f4", "f8", "i4", "i8", "c8", "c16"))}  # davit_type
_OPERATORS = ("sum", "prod", "min", "max")  # davit_operator
_BORDERS = ("untouched", "copy", "zero")  # davit_stencil_border
_ALGORITHMS = ("auto", "brute", "divide", "grid")  # davit_closest_pair_algorithm


class Error(RuntimeError):
    """A call of davit failed; `status` is its davit_status."""

    def __init__(self, status, sentence):
        super().__init__(sentence)
        self.status = status


# ---- structs of the headers ----

_WHOLE = c_int, c_int32, c_int64, c_size_t


def _fitting(value, kind):
    """A value of C's type `kind`. ctypes would cut off a whole number's high bits; here that is an OverflowError."""
    if kind not in _WHOLE:
        return value
    value = operator.index(value)
    if kind(value).value != value:
        raise OverflowError(f"{value} does not fit in {'u' if kind is c_size_t else ''}int{8 * ctypes.sizeof(kind)}")
    return value


class _Struct(ctypes.Structure):
    def __setattr__(self, name, value):
        super().__setattr__(name, _fitting(value, dict(self._fields_).get(name)))


def _struct(name, *members):
    return type(name, (_Struct,), {"_fields_": list(members)})


# A complex number is passed by value like a struct of its parts. BLAS' letter of each type, and what a factor is.
_Single = _struct("davit_complex_float", ("real", c_float), ("imag", c_float))
_Double = _struct("davit_complex_double", ("real", c_double), ("imag", c_double))
_LETTERS = {np.dtype("f4"): ("s", c_float), np.dtype("f8"): ("d", c_double), np.dtype("c8"): ("c", _Single),
            np.dtype("c16"): ("z", _Double)}

_WHERE = ("devices", POINTER(c_int)), ("device_count", c_int)
_OPTIONS = {name: _struct(f"davit_{name}_options", *_WHERE, ("mapped", c_bool), ("reserved", c_uint64 * 4))
            for name in ("gemv", "axpy", "dot", "reduce", "scan", "atax")}
_OPTIONS["level3"] = _struct("davit_level3_options", *_WHERE, ("mapped", c_bool), ("tile", c_int64), ("cache_bytes", c_size_t),
                             ("separate_memory", c_bool), ("report", c_void_p), ("explanation", c_void_p),
                             ("progress", c_void_p), ("progress_context", c_void_p), ("predict_threads", c_int),
                             ("arithmetic", c_int), ("moduli", c_int), ("exact_bits", c_bool), ("processes", c_void_p),
                             ("reserved", c_uint64 * 1))
_OPTIONS["stencil"] = _struct("davit_stencil_options", *_WHERE, ("border", c_int), ("mapped", c_bool), ("reserved", c_uint64 * 3))
_OPTIONS["covariance"] = _struct("davit_covariance_options", *_WHERE, ("mean_divisor", c_double), ("divisor", c_double),
                                 ("form", c_int), ("mapped", c_bool), ("reserved", c_uint64 * 4))
_OPTIONS["closest_pair"] = _struct("davit_closest_pair_options", *_WHERE, ("algorithm", c_int), ("mapped", c_bool), ("reserved", c_uint64 * 3))
_OPTIONS["features"] = _struct("davit_features_options", ("rate", c_double), ("frame", c_int64), ("binning", c_int),
                               ("reserved", c_uint64 * 4))
_DeviceInfo = _struct("davit_device_info", ("device", c_int), ("kind", c_int), ("name", c_char * 96), ("memory_bytes", c_size_t),
                      ("compute_units", c_int), ("compute_capability", c_int), ("bus", c_char * 32), ("reserved", c_uint64 * 4))
_Pair = _struct("davit_closest_pair_result", ("i", c_int64), ("j", c_int64), ("distance", c_double))
_TraceOptions = _struct("davit_align_trace_options", ("devices", c_void_p), ("device_count", c_int), ("mode", c_int),
                        ("reserved", c_uint64 * 4))
_MODES = ("local", "global", "semiglobal")
_Scoring = _struct("davit_align_scoring", ("symbols", c_int), ("matrix", c_void_p), ("gap_open", c_int32),
                   ("gap_extend", c_int32), ("profile", c_void_p), ("reserved", c_uint64 * 3))
_Matrix = _struct("davit_align_matrix", ("name", c_char * 16), ("symbols", c_int), ("letters", c_char * 33),
                  ("code", c_uint8 * 256), ("scores", ctypes.c_int8 * 1024), ("reserved", c_uint64 * 4))
_Result = _struct("davit_align_result", ("score", c_int32), ("banded", c_int32), ("query_begin", c_int64),
                  ("query_end", c_int64), ("target_begin", c_int64), ("target_end", c_int64), ("cigar", c_int64),
                  ("dropped", c_int32), ("reserved", c_uint32 * 1))
STRUCTS = (*_OPTIONS.values(), _DeviceInfo, _Pair, _Scoring, _Matrix, _Result)


def _listed(devices):
    """One whole number, Python's or NumPy's, as a list; others as they are."""
    try:
        return [operator.index(devices)]
    except TypeError:
        return devices


def _options(name, devices, **members):
    """The options of a call, which keep the list of devices alive."""
    options = _OPTIONS[name](**members)
    if devices is not None:
        numbers = [_fitting(number, c_int) for number in _listed(devices)]
        options.devices, options.device_count = (c_int * len(numbers))(*numbers), len(numbers)
    return ctypes.byref(options)


# ---- functions of the library ----


def _check(status, function, arguments):
    if status != 0:
        raise Error(status, _library.davit_last_error().decode())


def _find(name):
    try:
        return getattr(_library, name)
    except AttributeError as error:
        raise ImportError(f"{_FILE} has no {name}: it is of another version than this module; the environment variable "
                          "DAVIT_LIBRARY names the file to load") from error


def _text(name, *types):
    function = _find(name)
    function.restype, function.argtypes = c_char_p, types
    return function


def _declare(name, *types):
    function = _find(name)
    function.restype, function.argtypes, function.errcheck = c_int, types, _check

    def call(*arguments):
        if len(arguments) != len(types):
            raise TypeError(f"{name} takes {len(types)} arguments, not {len(arguments)}")
        return function(*map(_fitting, arguments, types))
    return call


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
    _dot[_type] = _declare(f"davit_{_letter}dot{'u' if _type.kind == 'c' else ''}", _size, _array, _size, _array, _size, _array,
                           c_void_p)
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

_HALF, _FLOATING, _FIELDS, _NUMBERS = np.dtype("f2"), list(_LETTERS)[:2], list(_LETTERS), list(_TYPES)[:4]
_INT, _UNSIGNED = np.dtype("i8"), np.dtype("u8")


def _names(kinds):
    return " or ".join(str(kind) for kind in kinds)


def _has_mask(x):
    if isinstance(x, (list, tuple, collections.deque)):
        return any(map(_has_mask, x))
    return isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x)


def _plain(x, name, ndim=None):
    """x as an array of numbers; no mask is dropped."""
    if _has_mask(x):
        raise TypeError(f"{name} has masked elements, which davit would take for numbers; fill them ({name}.filled(value)) or "
                        f"leave them out ({name}.compressed())")
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise TypeError(f"{name} has elements of {x.dtype}; numbers are wanted")
    if ndim is not None and x.ndim != ndim:
        raise ValueError(f"{name} has {x.ndim} dimensions, not {ndim}")
    return x


def _converted(x, kind, name):
    """x in another type. Whole numbers are not rounded: their halves of 32 bits are exact in float64, and the sum of the halves
    is so if it less the high half is the low one (Dekker, Numerische Mathematik 18, 1971)."""
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8 and kind.kind in "fc":
        high, low = (x >> 32).astype("f8") * 2.0**32, (x & 0xffffffff).astype("f8")
        rounded = (high + low) - high != low
        if rounded.any():
            raise ValueError(f"{name} has {x[rounded][0]}, which is not exact in float64")
    return x.astype(kind, copy=False)


def _alike(allowed, ndims, **operands):
    """The operands in the type in which NumPy computes with all of them, and that type. None: not given."""
    arrays = {name: None if x is None else _plain(x, name, ndim) for (name, x), ndim in zip(operands.items(), ndims)}
    given = {name: x for name, x in arrays.items() if x is not None}
    kind = np.result_type(*(x.dtype for x in given.values())).newbyteorder("=")
    computed = np.dtype("f4") if kind == _HALF else kind
    if computed not in allowed:
        found = ", ".join(f"{name} has {x.dtype}" for name, x in given.items())
        raise TypeError(f"{found}; {_names(allowed)} is wanted, as {next(iter(given))}.astype(...) gives it")
    return *(x if x is None else _converted(x, computed, name) for name, x in arrays.items()), kind


def _measured(x, name, ndim):
    """Coordinates and observations: whole numbers and float16 are taken as float64."""
    x = _plain(x, name, ndim)
    wide = x.dtype.kind in "biu" or x.dtype == _HALF
    return _alike(_FLOATING, [ndim], **{name: _converted(x, _FLOATING[1], name) if wide else x})[0]


def _check_shape(x, name, shape):
    if x.shape != shape:
        raise ValueError(f"{name} has the shape {x.shape}, not {shape}")
    return x


def _scalar(value, kind, name):
    """A factor, as it is passed."""
    if kind.kind == "c":
        value = complex(value)
        return _LETTERS[kind][1](value.real, value.imag)
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError(f"{name} is complex, the arrays are not")
    return float(value)


def _stored(a, trans="N"):
    """(array to pass, whether davit sees its transpose, leading dimension)."""
    if a.flags.f_contiguous or trans == "C":  # no letter says that a matrix is conjugated and not transposed
        return np.asfortranarray(a), False, max(1, a.shape[0])
    a = np.ascontiguousarray(a)
    return a, True, max(1, a.shape[1])


def _letter_of(trans, name):
    if trans not in ("N", "T", "C"):
        raise ValueError(f"{name} is {trans!r}, not 'N', 'T' or 'C'")
    return trans


def _op(trans, kind, name):
    """The letter; of real numbers C is T."""
    return "T" if _letter_of(trans, name) == "C" and kind.kind != "c" else trans


def _flipped(trans, transposed):
    return (b"T" if trans == "N" else b"N") if transposed else trans.encode()


def _operator(op):
    if op not in _OPERATORS:
        raise ValueError(f"op is {op!r}, none of {', '.join(_OPERATORS)}")
    return _OPERATORS.index(op)


def _type_of_results(x, op, dtype):
    """As NumPy has it: sums and products of short whole numbers are of long ones."""
    if op not in ("sum", "prod"):
        if dtype is not None:
            raise TypeError(f"dtype is for sums and products, not for op {op!r}")
        return x.dtype.newbyteorder("=")
    if dtype is not None:
        return np.dtype(dtype).newbyteorder("=")
    wider = {"b": _INT, "i": _INT, "u": _UNSIGNED}.get(x.dtype.kind)
    return np.result_type(x.dtype, wider) if wider else x.dtype.newbyteorder("=")


def _in_numbers(x, op, kind):
    """x in a type in which davit folds, and the function that takes results back to `kind`."""
    x = x.astype(kind, copy=False)
    if kind in _NUMBERS:
        return x, lambda results: results
    if kind == _HALF:
        return x.astype("f4"), lambda results: results.astype(kind)
    if kind.kind not in "biu":
        raise TypeError(f"x has {kind}; {_names(_NUMBERS)} or shorter ones are wanted")
    if kind == _UNSIGNED and op in ("min", "max"):  # in the same order as signed numbers
        half = np.uint64(1 << 63)
        return np.asarray(x ^ half).view(_INT), lambda results: results.view(_UNSIGNED) ^ half
    if op in ("min", "max"):  # the identity of the longer type is out of range
        least, most = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
        return x.astype(_INT), lambda results: np.clip(results, least, most).astype(kind)
    return x.astype(_INT), lambda results: results.astype(kind)


def _by_parts(function, x, op, kind):
    """A sum of complex numbers, as the sums of their parts."""
    if op != "sum":
        raise TypeError(f"x has {kind}, of which davit has sums alone, not op {op!r}")
    x = x.astype(kind, copy=False)
    real, imag = function(x.real), function(x.imag)
    result = np.empty(np.shape(real), kind)
    result.real, result.imag = real, imag
    return result[()]


def _rows(x, axis):
    """x with the axis, or several, as rows of the last dimension."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    moved = np.moveaxis(x, axes, range(-len(axes), 0))
    kept = moved.shape[:x.ndim - len(axes)]
    return np.ascontiguousarray(moved).reshape((*kept, math.prod(moved.shape[len(kept):])))


def _scan_rows(rows, op, exclusive, devices):
    """Scans each row of the last dimension, which is not empty."""
    result, flags = np.empty_like(rows), np.zeros(rows.shape, np.uint8)
    flags[..., 0] = 1
    _segmented_scan(_operator(op), _TYPES[rows.dtype], int(exclusive), rows.size, rows.ctypes.data, flags.ctypes.data,
                    result.ctypes.data, _options("scan", devices))
    return result

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
    """alpha op(a) @ op(b) + beta c, op being the matrix ("N"), its transpose ("T") or the conjugate of that ("C"). float64,
    float32, complex128 or complex64."""
    a, b, c, kind = _alike(_FIELDS, (2, 2, 2), a=a, b=b, c=c)
    computed, transa, transb = a.dtype, _op(transa, a.dtype, "transa"), _op(transb, a.dtype, "transb")
    (m, k), (l, n) = (x.shape if trans == "N" else x.shape[::-1] for x, trans in ((a, transa), (b, transb)))
    if k != l:
        raise ValueError(f"op(a) has {k} columns, op(b) {l} rows")
    result = np.empty((m, n), computed, order="F")
    if c is not None:
        result[...] = _check_shape(c, "c", (m, n))
    (a, a_flipped, lda), (b, b_flipped, ldb) = _stored(a, transa), _stored(b, transb)
    _gemm[computed](_flipped(transa, a_flipped), _flipped(transb, b_flipped), m, n, k, _scalar(alpha, computed, "alpha"),
                    a.ctypes.data, lda, b.ctypes.data, ldb, _scalar(beta if c is not None else 0, computed, "beta"),
                    result.ctypes.data, max(1, m), _options("level3", devices))
    return result.astype(kind, copy=False)


def gemv(a, x, *, alpha=1, beta=0, y=None, trans="N", devices=None):
    """alpha op(a) @ x + beta y, with op and types as in gemm()."""
    a, x, y, kind = _alike(_FIELDS, (2, 1, 1), a=a, x=x, y=y)
    computed, trans = a.dtype, _op(trans, a.dtype, "trans")
    rows, cols = a.shape if trans == "N" else a.shape[::-1]
    x = np.ascontiguousarray(_check_shape(x, "x", (cols,)))
    result = np.zeros(rows, computed)
    if y is not None:
        result[...] = _check_shape(y, "y", (rows,))
    stored, flipped, lda = _stored(a, trans)
    m, n = a.shape[::-1] if flipped else a.shape
    _gemv[computed](_flipped(trans, flipped), m, n, _scalar(alpha, computed, "alpha"), stored.ctypes.data, lda, x.ctypes.data,
                    1, _scalar(beta if y is not None else 0, computed, "beta"), result.ctypes.data, 1, _options("gemv", devices))
    if cols == 0 and y is not None:  # BLAS leaves y as it is
        result = result * computed.type(beta) if beta != 0 else np.zeros_like(result)
    return result.astype(kind, copy=False)


def axpy(alpha, x, y, *, devices=None):
    """alpha x + y, with types as in gemm()."""
    x, y, kind = _alike(_FIELDS, (1, 1), x=x, y=y)
    x, result = np.ascontiguousarray(x), np.array(_check_shape(y, "y", x.shape), order="C")
    _axpy[x.dtype](x.size, _scalar(alpha, x.dtype, "alpha"), x.ctypes.data, 1, result.ctypes.data, 1, _options("axpy", devices))
    return result.astype(kind, copy=False)


def dot(x, y, *, devices=None):
    """The sum of x[i] y[i], with types as in gemm(); nothing is conjugated."""
    x, y, kind = _alike(_FIELDS, (1, 1), x=x, y=y)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(_check_shape(y, "y", x.shape))
    result = np.zeros((), x.dtype)
    _dot[x.dtype](x.size, x.ctypes.data, 1, y.ctypes.data, 1, result.ctypes.data, _options("dot", devices))
    return result.astype(kind)[()]


def reduce(x, op="sum", *, axis=None, dtype=None, devices=None):
    """The sum, "prod", "min" or "max" of all elements, or of those along an axis or several. The same bits everywhere.

    Any real type; of complex numbers the sum. Sums and products of bool and short whole numbers are int64 or uint64, as
    NumPy's are; `dtype` names another type to fold in. There is no minimum or maximum of nothing."""
    x, number = _plain(x, "x"), _operator(op)
    kind = _type_of_results(x, op, dtype)
    if kind.kind == "c":
        return _by_parts(lambda part: reduce(part, op, axis=axis, devices=devices), x, op, kind)
    x, back = _in_numbers(x, op, kind)
    if axis is not None:
        x = _rows(x, axis)
    x = x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x)
    shape, length = ((), x.size) if axis is None else (x.shape[:-1], x.shape[-1])
    if length == 0 and op in ("min", "max") and math.prod(shape):
        raise ValueError(f"x has no elements, and so no {op}")
    if math.prod(shape) != 1 and length > 0:
        return back(_scan_rows(x, op, False, devices)[..., -1]) if x.size else np.empty(shape, kind)
    result = np.zeros((), x.dtype)
    _reduce(number, _TYPES[x.dtype], length, x.ctypes.data, result.ctypes.data, _options("reduce", devices))
    return back(np.full(shape, result))[()]


def scan(x, op="sum", *, axis=None, exclusive=False, flags=None, dtype=None, devices=None):
    """Prefix sums, products, minima or maxima along the axis, without one of all elements in C order, with types as in
    reduce(); with `flags` of segments, which begin where a flag is not 0."""
    x, number = _plain(x, "x"), _operator(op)
    kind = _type_of_results(x, op, dtype)
    if kind.kind == "c":
        return _by_parts(lambda part: scan(part, op, axis=axis, exclusive=exclusive, flags=flags, devices=devices), x, op, kind)
    if axis is not None and flags is not None:
        raise ValueError("axis and flags exclude each other")
    x, back = _in_numbers(x, op, kind)
    if axis is not None:
        rows = _rows(x, operator.index(axis))
        return back(np.moveaxis(_scan_rows(rows, op, exclusive, devices) if rows.size else rows, -1, axis))
    x = np.ascontiguousarray(x).ravel()
    result, where = np.empty_like(x), _options("scan", devices)
    arguments = number, _TYPES[x.dtype], int(exclusive), x.size, x.ctypes.data
    if flags is None:
        _scan(*arguments, result.ctypes.data, where)
    else:
        flags = np.ascontiguousarray(_plain(flags, "flags") != 0).view(np.uint8)
        _check_shape(flags, "flags", x.shape)
        _segmented_scan(*arguments, flags.ctypes.data, result.ctypes.data, where)
    return back(result)


def stencil(a, coefficients, *, border="copy", devices=None):
    """The sum of coefficients[r, c] a[i + r - 1, j + c - 1]; the border of the result is a's ("copy") or "zero". float64 or
    float32."""
    a, kind = _alike(_FLOATING, [2], a=a)
    coefficients = _check_shape(_measured(coefficients, "coefficients", 2), "coefficients", (3, 3)).astype("f8")
    if border not in _BORDERS[1:]:
        raise ValueError(f"border is {border!r}, neither 'copy' nor 'zero'")
    stored, flipped, ld = _stored(a)
    rows, cols = a.shape[::-1] if flipped else a.shape
    factors = np.ascontiguousarray(coefficients if flipped else coefficients.T)
    result = np.empty_like(stored)
    _stencil(_TYPES[a.dtype], rows, cols, stored.ctypes.data, ld, factors.ctypes.data, result.ctypes.data, ld,
             _options("stencil", devices, border=_BORDERS.index(border)))
    return result.astype(kind, copy=False)


def atax(a, x, *, devices=None):
    """a.T @ (a @ x). float64 or float32."""
    a, x, kind = _alike(_FLOATING, (2, 1), a=a, x=x)
    x = np.ascontiguousarray(_check_shape(x, "x", (a.shape[1],)))
    stored, flipped, lda = _stored(a)
    m, n = a.shape[::-1] if flipped else a.shape
    result = np.empty(a.shape[1], a.dtype)
    _atax(_TYPES[a.dtype], b"T" if flipped else b"N", m, n, stored.ctypes.data, lda, x.ctypes.data, None, result.ctypes.data,
          _options("atax", devices))
    return result.astype(kind, copy=False)


def covariance(d, *, divisor=0, mean_divisor=0, devices=None):
    """The covariance matrix of the columns of d, whose rows are observations, as np.cov(d, rowvar=False); of fewer than two
    rows it is 0, where np.cov has NaN. Divisors of 0: rows - 1 and rows. float64 or float32; other real types are taken as
    float64."""
    d = _measured(d, "d", 2)
    rows, cols = d.shape
    stored, flipped, ldd = _stored(d)
    result = np.empty((cols, cols), d.dtype, order="F")
    _covariance(_TYPES[d.dtype], b"T" if flipped else b"N", rows, cols, stored.ctypes.data, ldd, None, None, ldd,
                result.ctypes.data, max(1, cols), _options("covariance", devices, divisor=divisor, mean_divisor=mean_divisor))
    return result


def closest_pair(points, *, algorithm="auto", devices=None):
    """The closest two of n points in two or three dimensions, an array of n rows: Pair(i, j, distance), i < j. float64 or
    float32; other real types are taken as float64."""
    points = np.ascontiguousarray(_measured(points, "points", 2))
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"algorithm is {algorithm!r}, none of {', '.join(_ALGORITHMS)}")
    result = _Pair()
    _closest_pair(_TYPES[points.dtype], points.shape[1], points.shape[0], points.ctypes.data, ctypes.byref(result),
                  _options("closest_pair", devices, algorithm=_ALGORITHMS.index(algorithm)))
    return Pair(result.i, result.j, result.distance)


def closest_pairs(points, k=None, radius=np.inf, *, algorithm="auto", devices=None):
    """The first k of all pairs no farther apart than radius, in the order of (distance, i, j); k None: all of them. Arrays
    of i, of j, and of the distances."""
    points = np.ascontiguousarray(_measured(points, "points", 2))
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
    """62 features of each frame of a sound, of `frame` samples, 2 at least: 31 bands, and their changes to the next frame.
    On the CPU. The samples are floating-point numbers, full scale 1; whole numbers, as of WAV files, have to be divided by
    theirs."""
    samples = _plain(samples, "samples", 1)
    if samples.dtype.kind != "f":
        raise TypeError(f"samples has {samples.dtype}; floating-point numbers are wanted, full scale 1")
    if operator.index(frame) < 2 or rate == 0:  # zeros would be the library's defaults
        raise ValueError(f"frame is {frame} and rate {rate}; 2 samples or more and a rate above 0 are wanted")
    samples = np.ascontiguousarray(samples.astype("f4", copy=False))
    result = np.empty((samples.size // frame, 62), np.float32)
    _features(samples.size, samples.ctypes.data, result.ctypes.data, _options("features", None, rate=rate, frame=frame))
    return result


# ---- alignment ----

_BASES, _AMBIGUOUS = "ACGTUN", "RYSWKMBDHV"  # IUPAC's letters of nucleotides
_MATCH, _MISMATCH, _GAPS_OF_BASES, _GAPS_OF_ACIDS = 2, -3, (7, 2), (11, 1)


def _text_of(letters, name):
    """The letters as bytes, in capitals."""
    if isinstance(letters, str):
        if not letters.isascii():
            raise ValueError(f"{name} has letters that are not ASCII")
        letters = letters.encode()
    if not isinstance(letters, (bytes, bytearray)):
        raise TypeError(f"{name} is {type(letters).__name__}, neither str nor bytes")
    return bytes(letters).upper()


def is_dna(query, target):
    """Whether the tool would take the letters of both texts for bases: 90 % are from ACGTUN, the others ambiguous bases."""
    text = _text_of(query, "query") + _text_of(target, "target")
    plain = sum(text.count(letter) for letter in _BASES.encode())
    return plain + sum(text.count(letter) for letter in _AMBIGUOUS.encode()) == len(text) and 10 * plain >= 9 * len(text)


def _matrix_of_bases():
    """The tool's: A, C, G, T or U, and N, which stands for every ambiguous base and matches nothing."""
    matrix = _Matrix(symbols=5, letters=b"ACGTN")
    ctypes.memset(matrix.code, 255, ctypes.sizeof(matrix.code))
    for letter in _BASES + _AMBIGUOUS:
        matrix.code[ord(letter)] = 4 if letter in _AMBIGUOUS else "ACGTN".index("T" if letter == "U" else letter)
    for q in range(5):
        for t in range(5):
            matrix.scores[q + 5 * t] = _MATCH if q == t < 4 else _MISMATCH
    return matrix


def _symbols_of(text, name, matrix):
    codes = np.frombuffer(matrix.code, np.uint8)
    symbols = np.ascontiguousarray(codes[np.frombuffer(text, np.uint8)])
    foreign = np.flatnonzero(symbols == 255)
    if foreign.size:
        raise ValueError(f"letter {foreign[0] + 1} of {name} is {chr(text[foreign[0]])!r}, none of {matrix.letters.decode()}")
    return symbols


def align(query, target, *, matrix=None, gap_open=None, gap_extend=None, mode="local"):
    """The best alignment of two texts (str or bytes), local, global or semiglobal, by one of davit's matrices (NUC.4.4 for
    bases), on the CPU. Without a matrix the letters decide, as in the tool: bases (is_dna()) match with 2, mismatch with -3
    and have gaps of 7 and 2, amino acids are scored by BLOSUM62 with gaps of 11 and 1, which also stand by a matrix that is
    named. The cigar has runs of = (equal), X (different), I (in the query alone) and D (in the target alone)."""
    if mode not in _MODES:
        raise ValueError(f"mode is {mode!r}, none of {', '.join(_MODES)}")
    texts, found, result, cigar = [_text_of(query, "query"), _text_of(target, "target")], _Matrix(), _Result(), c_void_p()
    bases = matrix is None and is_dna(*texts)
    if bases:
        found = _matrix_of_bases()
    else:
        _align_matrix_find((matrix or "BLOSUM62").encode(), ctypes.byref(found))
    symbols = [_symbols_of(text, name, found) for text, name in zip(texts, ("query", "target"))]
    gap_open, gap_extend = (given if given is not None else default
                            for given, default in zip((gap_open, gap_extend), _GAPS_OF_BASES if bases else _GAPS_OF_ACIDS))
    scoring = _Scoring(found.symbols, ctypes.addressof(found.scores), gap_open, gap_extend)
    (q, t) = symbols
    _align_trace(ctypes.byref(scoring), q.size, q.ctypes.data, t.size, t.ctypes.data, ctypes.byref(result), ctypes.byref(cigar),
                 ctypes.byref(_TraceOptions(mode=_MODES.index(mode))))
    text = ctypes.string_at(cigar).decode()
    _free(cigar)
    return Alignment(result.score, result.query_begin, result.query_end, result.target_begin, result.target_end, text)
