// One compilation of a data_dump.json. Internal to the mindspore*.cc files: mindspore.cc reads
// e2e_dump_settings and calls the others, mindspore_common.cc reads common_dump_settings,
// mindspore_effects.cc applies the effects of one value on others.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text/json.h"
#include "dialect/json_section.h"
#include "dialect/options.h"
#include "plan/dump_plan.h"

namespace opdump::dialect {

// One compilation. The methods are called in the original's order of evaluation (mindspore.md 1.2), because
// a file with several errors must report the same one first.
class MindsporeCompiler {
 public:
  MindsporeCompiler(const JsonDocument& document, const DialectOptions& options);

  Result<plan::DumpPlan> compile();

 private:
  static constexpr std::uint64_t kMaxUint32 = std::numeric_limits<std::uint32_t>::max();

  // e2e_dump_settings
  Result<> read_e2e();
  Result<> read_place();
  Result<> read_sample();

  // common_dump_settings
  Result<> check_presence();
  Error missing_section() const;
  bool has_async() const;
  void warn_unknown_keys();
  Result<> read_dump_mode();
  Result<> read_path();
  Result<> read_net_name();
  Result<> read_iteration();
  Result<> read_input_output();
  Result<> read_kernels();
  Result<> read_support_device();
  Result<> read_debug_mode();
  Result<> read_file_format();
  Result<> read_overflow_number();
  Result<> read_saved_data();
  Result<> read_initial_iteration();
  Result<> read_statistics();

  // Effects of one value on others.
  void adjust_for_debug_mode();
  void adjust_for_exception();
  void settle_place();
  void settle_mode();
  void settle_kernel_by_kernel();
  void settle_offline();
  void settle_host();
  void dump_nothing(std::string_view pointer, const std::string& why);

  Mode offline_mode() const;
  bool on_ascend() const { return mode_ == Mode::o0 || is_offline(); }
  bool is_offline() const { return mode_ == Mode::o2 || mode_ == Mode::ge; }
  // CPU and GPU treat an absent section as an enabled one with its defaults.
  bool e2e_on() const { return !on_ascend() || (strict_ ? e2e_.present() : mode_ == Mode::o0); }
  Result<std::optional<std::uint64_t>> read_number(const JsonSection& section, std::string_view key,
                                                   std::string_view allowed, std::uint64_t last);
  void warn(const JsonSection& section, std::string_view key, const std::string& message) {
    warnings_.add(section.pointer(key), message);
  }

  const JsonDocument& document_;
  const DialectOptions& options_;
  const bool strict_;
  JsonSection common_, e2e_;
  Warnings warnings_;
  Mode mode_;
  plan::DumpPlan plan_;
  bool enable_ = false;
  bool overflow_number_allowed_ = false;
  bool nothing_ = false;  // the original would not dump anything
  std::uint64_t dump_mode_ = 0;
};

}  // namespace opdump::dialect
