// `opdump report A B -o report.html`: a comparison, or one dump, as a page.
#include <filesystem>
#include <optional>
#include <string>

#include "base/file/file_replacement.h"
#include "base/text/columns.h"
#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/compare/make_result.h"
#include "cli/verb.h"
#include "result/page.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kReportFooter =
    R"(The page is one file: it needs no network, and can be sent to others.

Examples:
  opdump report golden actual -o report.html
  opdump report run.opdump                    what opdump compare --save has kept
  opdump report golden                        one dump: NaN and infinities, norms)";

}  // namespace

Result<int> run_report(std::span<const char* const> args) {
  CLI::App app("Writes a comparison, or what is in one dump, as one page of HTML.", "opdump report");
  ResultRequest request;
  std::string output = "report.html";
  declare_result(app, request);
  app.add_option("-o,--output", output, "The page; default: report.html");
  app.footer(std::string(kReportFooter));
  if (auto done = parse_arguments(app, args)) return *done;
  OPDUMP_TRY(MadeResult made, make_result(request));
  OPDUMP_TRY(const std::string page, result::render_page(made.database));
  OPDUMP_CHECK_OK(write_named_file(output, page, 0644));
  if (!made.conclusion.empty())
    terminal::print(wrap_words(made.conclusion, terminal::terminal_width(), 2) + "\n");
  terminal::print("report: " + output + " (" + format_bytes(page.size()) + ")\n");
  return 0;
}

}  // namespace opdump::cli
