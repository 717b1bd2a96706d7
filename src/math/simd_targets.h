// Which instruction sets the SIMD files of math/ are compiled for, and which of them a call takes. Include
// before anything of Highway.
#pragma once

#include <cstddef>
#include <cstdint>

// The plain one that every machine has, and those that pay: each further one costs build time and size.
// Vectors of a length that is not known before the program runs cannot be kept in arrays, as some files do.
#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

namespace opdump::math {

// The instruction sets from which calls take the best one, as bits of Highway's (HWY_AVX2 and so on): those
// of this machine.
std::int64_t simd_targets();

// From now on they are `targets`, some of the machine's; 0: all of them. For tests.
void choose_targets(std::int64_t targets);

// The place of the one to take in the table that OPDUMP_SIMD_EXPORT makes; `compiled` are those in it.
std::size_t target_place(std::int64_t compiled);

}  // namespace opdump::math

// Highway's HWY_EXPORT and HWY_DYNAMIC_DISPATCH, without its library: as that is loaded it measures for some
// milliseconds how fast the clock ticks, in each program anew.
#define OPDUMP_SIMD_EXPORT(function)              \
  static decltype(&HWY_STATIC_DISPATCH(function)) \
      const function##_table[] = {HWY_CHOOSE_TARGET_LIST(function), HWY_CHOOSE_FALLBACK(function)}
#define OPDUMP_SIMD(function) (*function##_table[target_place(HWY_TARGETS)])
