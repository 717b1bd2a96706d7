#include "cli/run_config.h"

#include <cstdlib>
#include <optional>

#include "base/launcher.h"
#include "dialect/dialects.h"
#include "dump/write/folder/existing_dump.h"
#include "dump/write/folder/recording_folder.h"

namespace opdump::cli {
namespace {

// What this process's children record, as far as the environment says.
Result<dump::FolderPart> part_of_process(const std::filesystem::path& root) {
  OPDUMP_TRY(const auto rank, find_launched_rank());
  OPDUMP_TRY(const auto device, find_launched_device());
  if (!rank) return dump::FolderPart{root, std::nullopt, std::nullopt};  // it may start any
  return dump::FolderPart{root, rank, device.value_or(0)};
}

Result<dump::Existing> choose_existing(const ExistingArguments& arguments) {
  if (arguments.force) return dump::Existing::replace;
  if (arguments.append) return dump::Existing::append;
  const auto text = dialect::process_environment("OPDUMP_EXISTING");
  if (!text || text->empty()) return dump::Existing::refuse;
  if (const auto existing = dump::parse_existing(*text)) return *existing;
  return Error(Code::usage,
               "OPDUMP_EXISTING is '" + *text + R"('; expected "refuse", "replace" or "append")");
}

}  // namespace

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

void add_existing_options(CLI::App& app, ExistingArguments& arguments) {
  auto* const force =
      app.add_flag("--force", arguments.force, "replace the existing dump in the folder; other files stay");
  app.add_flag("--append", arguments.append, "add to the existing dump in the folder, as the original does")
      ->excludes(force);
}

Result<> prepare_folder(const plan::DumpPlan& plan, const ExistingArguments& arguments) {
  OPDUMP_TRY(dump::Existing existing, choose_existing(arguments));
  ::setenv("OPDUMP_RUN_ID", dump::make_run_id().c_str(), 1);
  if (arguments.force || arguments.append)
    ::setenv("OPDUMP_EXISTING", arguments.force ? "replace" : "append", 1);
  OPDUMP_TRY(const dump::FolderPart part, part_of_process(plan.root));
  if (plan.is_empty || existing == dump::Existing::append) return ok();
  if (existing == dump::Existing::replace) return dump::replace_dump(part);
  if (const auto found = dump::find_dump(part, {})) return dump::dump_exists(*found);
  return ok();
}

}  // namespace opdump::cli
