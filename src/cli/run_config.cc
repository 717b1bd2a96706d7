#include "cli/run_config.h"

#include "dialect/dialects.h"

namespace opdump::cli {

Result<std::string> find_config(const std::string& given) {
  if (!given.empty()) return given;
  for (const char* name : {"OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG"})
    if (const auto value = dialect::process_environment(name); value && !value->empty()) return *value;
  return Error(
      Code::usage,
      "no configuration: pass --config data_dump.json or set MINDSPORE_DUMP_CONFIG; a program that uses "
      "torchair, npu_device or torch.utils.dumper has its own with --compat");
}

Result<plan::DumpPlan> check_config(const std::string& config, const std::string& dialect,
                                    const std::string& mode, bool strict) {
  dialect::Options options;
  options.strict = strict;
  options.environment = dialect::process_environment;
  if (!mode.empty()) {
    OPDUMP_TRY(options.mode, dialect::parse_mode(mode));
  }
  return dialect::load_plan(config, dialect, options);
}

}  // namespace opdump::cli
