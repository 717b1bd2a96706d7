// The instruction sets that the SIMD files of math/ are compiled for, and the selection at run time. Include
// it before any Highway header.
#pragma once

#include <cstddef>
#include <cstdint>

// The baseline of every machine, and the worthwhile ones: each further one costs build time and size.
// Vectors of a length that is unknown at compile time cannot be stored in arrays, as some files do.
#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

namespace opdump::math {

// The instruction sets from which calls select the best one, as Highway's bits (HWY_AVX2 and so on): those
// of this machine.
std::int64_t simd_targets();

// Restricts them to `targets`, a subset of the machine's; 0: all of them. For tests.
void choose_targets(std::int64_t targets);

// The index of the selected one in the table of OPDUMP_SIMD_EXPORT; `compiled` are those in it.
std::size_t target_place(std::int64_t compiled);

}  // namespace opdump::math

// Highway's HWY_EXPORT and HWY_DYNAMIC_DISPATCH without its library, which measures the clock for some
// milliseconds when it is loaded, in each program.
#define OPDUMP_SIMD_EXPORT(function)              \
  static decltype(&HWY_STATIC_DISPATCH(function)) \
      const function##_table[] = {HWY_CHOOSE_TARGET_LIST(function), HWY_CHOOSE_FALLBACK(function)}
#define OPDUMP_SIMD(function) (*function##_table[target_place(HWY_TARGETS)])
