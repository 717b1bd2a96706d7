// `opdump plan FILE`: what a configuration means, before anything runs.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "dialect/dialects.h"
#include "plan/dump_plan.h"

namespace opdump::cli {
namespace {

struct PlanArguments {
  std::string file, dialect, mode = "auto";
  bool strict = false;
  bool json = false;
};

void declare(CLI::App& app, PlanArguments& arguments) {
  app.add_option("FILE", arguments.file, "The configuration, e.g. data_dump.json")->required();
  app.add_option("--dialect", arguments.dialect,
                 "The configuration's language; default: told by its content");
  app.add_option("--mode", arguments.mode, "The machine it is for: o0, o2, cpu, gpu or ge; default: auto");
  app.add_flag("--strict", arguments.strict, "Refuse exactly what the original refuses");
  app.add_flag("--json", arguments.json, "Print the plan as JSON");
}

}  // namespace

Result<int> run_plan(std::span<const char* const> args) {
  CLI::App app("Checks a dump configuration and prints what it asks for.", "opdump plan");
  PlanArguments arguments;
  declare(app, arguments);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& error) {
    return Error(Code::usage, std::string("plan: ") + error.what());
  }

  dialect::Options options;
  options.strict = arguments.strict;
  OPDUMP_TRY(options.mode, dialect::parse_mode(arguments.mode));
  OPDUMP_TRY(const plan::DumpPlan plan, dialect::load_plan(arguments.file, arguments.dialect, options));
  for (const std::string& warning : plan.warnings) std::cerr << "opdump: warning: " << warning << '\n';
  std::cout << (arguments.json ? plan::describe_json(plan) : plan::describe(plan));
  return 0;
}

}  // namespace opdump::cli
