#include "math/simd_targets.h"

#include <hwy/targets.h>

#include <atomic>
#include <bit>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace opdump::math {
namespace {

#if HWY_ARCH_X86
bool has_half_floats() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// What Highway lets the compiler use in each; the system must keep the registers as well, which is seen to.
std::int64_t find_targets() {
  __builtin_cpu_init();
  std::int64_t targets = HWY_STATIC_TARGET;
  const bool sse4 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  if (!sse4) return targets;
  targets |= HWY_SSE4;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && has_half_floats();
  if (!avx2) return targets;
  targets |= HWY_AVX2;
  const bool avx3 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return avx3 ? targets | HWY_AVX3 : targets;
}
#else
std::int64_t find_targets() { return HWY_STATIC_TARGET; }
#endif

std::int64_t machine_targets() {
  static const std::int64_t targets = find_targets();
  return targets;
}

std::atomic<std::int64_t> chosen_targets{0};  // 0: those of the machine

}  // namespace

std::int64_t simd_targets() {
  const std::int64_t chosen = chosen_targets.load(std::memory_order_relaxed);
  return chosen == 0 ? machine_targets() : chosen;
}

void choose_targets(std::int64_t targets) { chosen_targets = targets; }

std::size_t target_place(std::int64_t compiled) {
  const auto places = HWY_CHOSEN_TARGET_SHIFT(simd_targets() & compiled) | HWY_CHOSEN_TARGET_MASK_SCALAR;
  return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(places))) -
         1;  // best ones first
}

}  // namespace opdump::math
