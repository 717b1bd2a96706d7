#include "cli/arguments.h"

#include <string>
#include <vector>

#include "cli/output.h"

namespace opdump::cli {

std::optional<Result<int>> parse_arguments(CLI::App& app, std::span<const char* const> args) {
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 pops words from the back
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return Result<int>(0);
  } catch (const CLI::Error& e) {
    return Result<int>(Error(Code::usage, std::string(e.what()) + "; see " + app.get_name() + " --help"));
  }
}

}  // namespace opdump::cli
