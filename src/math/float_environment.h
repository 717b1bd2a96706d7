// Sets the floating-point environment that our results need on the host's threads. A program that flushes
// subnormals or traps invalid operations must not change our numbers, and our arithmetic must not cause
// traps in it.
#pragma once

#include <cfenv>

namespace opdump::math {

// Default rounding, subnormals on, no traps -- until the end of the scope, which also restores the sticky
// exception flags.
class FloatEnvironment {
 public:
#if defined(__x86_64__)
  // The control word alone: saving the x87 state as <cfenv> does takes longer than the statistics of a small
  // tensor.
  FloatEnvironment() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(kDefault); }
  ~FloatEnvironment() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  static constexpr unsigned kDefault = 0x1f80;
  unsigned saved_;
#else
  FloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif

 public:
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;
};

}  // namespace opdump::math
