// What Highway asks its own library: which instruction sets this processor has. That library also measures
// the clock whenever it is loaded, which takes 2.5 ms of each start, in programs that are recorded as well.
// With these it is not loaded. Only for x86-64.
#include <cpuid.h>
#include <hwy/targets.h>

#include <atomic>
#include <cstdint>

namespace hwy {
namespace {

std::atomic<std::int64_t> forced_targets{0};  // by a test

bool converts_half_floats() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// Those of the targets that Highway compiles for. __builtin_cpu_supports() knows whether the system saves
// the registers.
std::int64_t processor_targets() {
  __builtin_cpu_init();
  std::int64_t targets = HWY_STATIC_TARGET;  // what every machine has
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul") ||
      !__builtin_cpu_supports("aes"))
    return targets;
  targets |= HWY_SSSE3 | HWY_SSE4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !converts_half_floats())
    return targets;
  targets |= HWY_AVX2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd"))
    return targets;
  return targets | HWY_AVX3;
}

}  // namespace

std::int64_t SupportedTargets() {
  const std::int64_t forced = forced_targets.load(std::memory_order_relaxed);
  return forced != 0 ? forced : processor_targets();
}

void SetSupportedTargetsForTest(std::int64_t targets) {
  forced_targets.store(targets, std::memory_order_relaxed);
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
