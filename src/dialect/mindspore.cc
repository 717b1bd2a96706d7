#include "dialect/mindspore.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "dialect/mindspore_compiler.h"
#include "dialect/opdump_settings.h"

namespace opdump::dialect {
namespace {

constexpr std::string_view kCommon = "common_dump_settings";
constexpr std::string_view kE2e = "e2e_dump_settings";
constexpr std::string_view kAsync = "async_dump_settings";
constexpr std::array kSections{kCommon, kE2e, kAsync, kOpdumpSettings};
constexpr std::string_view kAsyncHint =
    "async_dump_settings is of MindSpore before 1.3 and is ignored: without e2e_dump_settings a dump is "
    "asynchronous, and op_debug_mode belongs in common_dump_settings";
constexpr std::array<std::string_view, 13> kCommonKeys{
    "dump_mode",        "path",          "net_name",    "iteration",  "input_output",    "kernels",
    "support_device",   "op_debug_mode", "file_format", "saved_data", "overflow_number", "statistic_category",
    "initial_iteration"};
constexpr std::array<std::string_view, 7> kE2eKeys{
    "enable",      "trans_flag", "save_kernel_args", "stat_calc_mode", "device_stat_precision_mode",
    "sample_mode", "sample_num"};
constexpr std::array kMindSporeKeyPlaces{KeyPlace{kCommon, kCommonKeys}, KeyPlace{kE2e, kE2eKeys},
                                         KeyPlace{kOpdumpSettings, kOpdumpKeys}};
constexpr std::array<std::string_view, 2> kPlaces{"host", "device"};
constexpr std::array<std::string_view, 2> kPrecisions{"high", "low"};
// The original looks for the keys in this order.
constexpr std::array<std::string_view, 6> kMandatoryKeys{"dump_mode",    "net_name", "iteration",
                                                         "input_output", "kernels",  "support_device"};

}  // namespace

bool recognises_mindspore(const nlohmann::json& root) {
  return root.is_object() &&
         std::ranges::any_of(kSections, [&](std::string_view section) { return root.contains(section); });
}

std::span<const KeyPlace> mindspore_keys() { return kMindSporeKeyPlaces; }

Result<> check_mindspore_path(const std::filesystem::path& resolved) {
  const std::string text = resolved.string();
  const std::size_t dot = text.rfind('.');
  if (dot == std::string::npos)
    return Error(Code::config, text + ": invalid json file name; it should end in \".json\"");
  if (text.substr(dot) != ".json")
    return Error(Code::config, text + ": the suffix is \"" + text.substr(dot) +
                                   "\"; a dump configuration only supports \".json\"");
  return ok();
}

Result<plan::DumpPlan> compile_mindspore(const JsonDocument& document, const DialectOptions& options) {
  return MindsporeCompiler(document, options).compile();
}

MindsporeCompiler::MindsporeCompiler(const JsonDocument& document, const DialectOptions& options)
    : document_(document),
      options_(options),
      strict_(options.strict),
      common_(document, std::string(kCommon)),
      e2e_(document, std::string(kE2e)),
      warnings_(document) {
  mode_ = options.mode != Mode::automatic ? options.mode : e2e_.present() ? Mode::o0 : offline_mode();
}

Mode MindsporeCompiler::offline_mode() const {
  const auto value = options_.environment ? options_.environment("ENABLE_MS_GE_DUMP") : std::nullopt;
  return value == "1" ? Mode::ge : Mode::o2;
}

// The number at `key`, nothing if the key is absent. Numbers above `last` are refused with `allowed` as the
// reason; strict reading first takes the number modulo 2^32, as the original does.
Result<std::optional<std::uint64_t>> MindsporeCompiler::read_number(const JsonSection& section,
                                                                    std::string_view key,
                                                                    std::string_view allowed,
                                                                    std::uint64_t last) {
  if (section.find(key) == nullptr) return std::optional<std::uint64_t>();
  OPDUMP_TRY(std::uint64_t number, section.read_unsigned(key, allowed));
  if (strict_) number &= kMaxUint32;
  if (number > kMaxUint32) return section.wrong(key, "should be at most 4294967295");
  if (number > last) return section.wrong(key, "should be " + std::string(allowed));
  return std::optional(number);
}

Result<plan::DumpPlan> MindsporeCompiler::compile() {
  warn_unknown_keys();
  OPDUMP_CHECK_OK(read_e2e());
  OPDUMP_CHECK_OK(check_presence());
  OPDUMP_CHECK_OK(read_dump_mode());
  OPDUMP_CHECK_OK(read_path());
  OPDUMP_CHECK_OK(read_net_name());
  OPDUMP_CHECK_OK(read_iteration());
  OPDUMP_CHECK_OK(read_input_output());
  OPDUMP_CHECK_OK(read_kernels());
  OPDUMP_CHECK_OK(read_support_device());
  OPDUMP_CHECK_OK(read_debug_mode());
  OPDUMP_CHECK_OK(read_file_format());
  OPDUMP_CHECK_OK(read_overflow_number());
  OPDUMP_CHECK_OK(read_saved_data());
  OPDUMP_CHECK_OK(read_initial_iteration());
  adjust_for_exception();
  settle_place();
  OPDUMP_CHECK_OK(read_statistics());
  settle_mode();
  OPDUMP_CHECK_OK(read_opdump_settings(document_, plan_));
  if (nothing_) plan_.steps = plan::StepSet::none();
  plan_.warnings = warnings_.take();
  return std::move(plan_);
}

bool MindsporeCompiler::has_async() const {
  return document_.root().is_object() && document_.root().contains(kAsync);
}

void MindsporeCompiler::warn_unknown_keys() {
  warnings_.add_repeated_keys();
  if (has_async()) warnings_.add_at_key("/" + std::string(kAsync), kAsyncHint);
  dialect::warn_unknown_keys(document_.root(), "", kSections, kMindSporeKeyPlaces, warnings_);
  common_.warn_unknown(kCommonKeys, kMindSporeKeyPlaces, warnings_);
  e2e_.warn_unknown(kE2eKeys, kMindSporeKeyPlaces, warnings_);
  JsonSection(document_, std::string(kOpdumpSettings))
      .warn_unknown(kOpdumpKeys, kMindSporeKeyPlaces, warnings_);
}

Result<> MindsporeCompiler::read_e2e() {
  if (!e2e_.present()) return ok();
  if (!e2e_.is_object() && !strict_)
    return document_.error("/" + std::string(kE2e), std::string(kE2e) + " is " +
                                                        describe_value(document_.root()[std::string(kE2e)]) +
                                                        "; should be an object");
  if (e2e_.find("enable") != nullptr) {
    OPDUMP_TRY(enable_, e2e_.read_boolean("enable"));
  }
  if (e2e_.find("trans_flag") != nullptr) {
    OPDUMP_TRY(plan_.default_format, e2e_.read_boolean("trans_flag"));
  }
  if (e2e_.find("save_kernel_args") != nullptr) {
    OPDUMP_TRY(plan_.operator_arguments, e2e_.read_boolean("save_kernel_args"));
  }
  OPDUMP_CHECK_OK(read_place());
  return read_sample();
}

Result<> MindsporeCompiler::read_place() {
  if (e2e_.find("stat_calc_mode") != nullptr) {
    OPDUMP_TRY(const std::string place, e2e_.read_string("stat_calc_mode", "host or device"));
    if (place != "host" && place != "device") return e2e_.wrong_choice("stat_calc_mode", kPlaces);
    plan_.statistics_processor = place == "device" ? plan::Processor::device : plan::Processor::host;
  }
  if (e2e_.find("device_stat_precision_mode") != nullptr) {
    OPDUMP_TRY(const std::string precision, e2e_.read_string("device_stat_precision_mode", "high or low"));
    if (precision != "high" && precision != "low")
      return e2e_.wrong_choice("device_stat_precision_mode", kPrecisions);
    plan_.statistics_precision = precision == "low" ? plan::Precision::low : plan::Precision::high;
  }
  return ok();
}

Result<> MindsporeCompiler::read_sample() {
  constexpr std::uint64_t kDefaultSample = 100;
  OPDUMP_TRY(const auto mode, read_number(e2e_, "sample_mode", "0 (whole tensors) or 1 (samples)", 1));
  if (mode != 1) return ok();
  OPDUMP_TRY(const auto count, read_number(e2e_, "sample_num", "greater than 0", kMaxUint32));
  if (count == 0) return e2e_.wrong("sample_num", "should be greater than 0");
  plan_.sample_count = count.value_or(kDefaultSample);
  return ok();
}

Error MindsporeCompiler::missing_section() const {
  std::string message = std::string(kCommon) + " not found; the configuration needs it";
  if (document_.root().is_object())
    for (const auto& [key, value] : document_.root().items())
      if (key != kE2e && key.size() < 100 && find_nearest(key, std::span(&kCommon, 1)))
        return document_.error("", message.append("; is \"").append(key).append("\" a misspelling?"));
  message += describe_place(document_.root(), kMindSporeKeyPlaces);
  if (has_async()) message.append("; ").append(kAsyncHint);
  return document_.error("", message);
}

Result<> MindsporeCompiler::check_presence() {
  if (!common_.present()) return missing_section();
  for (const std::string_view key : kMandatoryKeys) {
    const bool has_default = key != "dump_mode" && key != "net_name";
    if (common_.find(key) == nullptr && (strict_ || !has_default)) return common_.missing(key, kCommonKeys);
  }
  if (strict_ && !e2e_on() && common_.find("op_debug_mode") == nullptr)
    return common_.missing("op_debug_mode", kCommonKeys);
  return ok();
}

}  // namespace opdump::dialect
