// Which instruction sets the SIMD files of math/ are compiled for: the plain one that every machine has, and
// those that pay. Each further one costs build time and size. Include before anything of Highway.
#pragma once

#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif
