// `opdump plan FILE`: what a configuration means, before anything runs.
#include "plan/dump_plan.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/file/file.h"
#include "cli/arguments.h"
#include "cli/verb.h"
#include "dialect/dialects.h"
#include "dialect/request.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

// Why nothing can be written to `root`, empty if something can: tried in it, or in the directory in which it
// would be made.
std::string find_hindrance(const fs::path& root) {
  std::error_code error;
  fs::path place = root;
  while (!place.empty() && !fs::exists(place, error) && place.has_parent_path() &&
         place.parent_path() != place)
    place = place.parent_path();
  if (!fs::is_directory(place, error)) return place.string() + " is not a directory";
  std::string probe = (place / ".opdump-plan-XXXXXX").string();
  if (::mkdtemp(probe.data()) == nullptr) return io_error(place, "create a directory in it").message();
  ::rmdir(probe.c_str());
  return {};
}

}  // namespace

Result<int> run_plan(std::span<const char* const> args) {
  std::string file, dialect, mode = "auto";
  bool strict = false, json = false;
  CLI::App app("Checks a dump configuration and prints what it asks for.", "opdump plan");
  app.add_option("FILE", file, "The configuration, e.g. data_dump.json, or the folder of a recording")
      ->required();
  app.add_option("--dialect", dialect, "Its language, e.g. mindspore; default: recognised by its content")
      ->type_name("NAME");
  app.add_option("--mode", mode, "The target machine: o0, o2, cpu, gpu or ge; default: auto")
      ->type_name("MACHINE");
  app.add_flag("--strict", strict, "Reject exactly what the original rejects");
  app.add_flag("--json", json, "Print the plan as JSON");
  if (auto outcome = parse_arguments(app, args)) return std::move(*outcome);

  dialect::DialectOptions options;
  options.strict = strict;
  OPDUMP_TRY(options.mode, dialect::parse_mode(mode));
  if (std::error_code ignored; fs::is_directory(file, ignored))
    file = (fs::path(file) / dialect::kConfigName).string();
  OPDUMP_TRY(const plan::DumpPlan plan, dialect::load_plan(file, dialect, options));
  for (const std::string& warning : plan.warnings) terminal::print_error("warning: " + warning);
  if (const std::string why = plan.root.empty() ? "" : find_hindrance(plan.root); !why.empty())
    terminal::print_error("warning: nothing can be dumped to " + plan.root.string() + " here: " + why);
  if (json)
    terminal::print_json(plan::describe_json(plan));
  else
    terminal::print(plan::describe(plan));
  return 0;
}

}  // namespace opdump::cli
