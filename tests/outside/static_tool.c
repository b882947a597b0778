/* SPDX-License-Identifier: Apache-2.0 */
/* The tool, linked with the static library, for compute-sanitizer: with the shared one, the OpenMP runtime
 * starts CUDA while libraries are loaded, which is before compute-sanitizer can watch it. */

int davit_main(int argc, char **argv); /* main() of src/cli/main.c */

int main(int argc, char **argv) {
  return davit_main(argc, argv);
}
