// `opdump index DUMP -o RUN.opdump`: what is in one dump as a result, to be looked at and asked without the
// dump.
#include <string>

#include "base/text/columns.h"
#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/compare/make_result.h"
#include "cli/verb.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kIndexFooter =
    R"(The file has the operators, the statistics of their tensors, and the graphs; not the tensors.

Examples:
  opdump index golden -o golden.opdump
  opdump view golden.opdump
  opdump query golden.opdump "SELECT name, max FROM operators o JOIN slots s ON s.operator = o.id JOIN statistics ON slot = s.id ORDER BY max DESC LIMIT 5")";

}  // namespace

Result<int> run_index(std::span<const char* const> args) {
  CLI::App app("Saves the contents of one dump to a file for opdump query, report and view.", "opdump index");
  ResultRequest request;
  app.add_option("DUMP", request.first, "A dump: its root, any directory below it, or one file")->required();
  app.add_option("-o,--output", request.save_path, "The file to write: NAME.opdump")->required();
  add_expansion_limit(app);
  app.footer(std::string(kIndexFooter));
  if (auto done = parse_arguments(app, args)) return *done;
  OPDUMP_TRY(const MadeResult made, index_dump(request));
  if (!made.conclusion.empty())
    terminal::print(wrap_words(made.conclusion, terminal::terminal_width(), 2) + "\n");
  return 0;
}

}  // namespace opdump::cli
