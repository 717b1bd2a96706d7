#include "cli/compare/make_result.h"

#include <utility>

#include "cli/arguments.h"
#include "compare/compare.h"
#include "compare/facts/unfinished.h"
#include "result/rows.h"
#include "result/schema.h"
#include "result/writer.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace opdump::cli {
namespace {

Result<result::Database> compare_two(const ResultRequest& request) {
  OPDUMP_TRY(const dump::DumpSet golden, dump::DumpSet::open(request.first, terminal::print_remark));
  OPDUMP_TRY(const dump::DumpSet actual, dump::DumpSet::open(request.second, terminal::print_remark));
  OPDUMP_TRY(result::ResultWriter writer,
             result::ResultWriter::begin({.command = "opdump report " + request.first + " " + request.second,
                                          .golden = request.first,
                                          .actual = request.second,
                                          .rtol = request.rtol,
                                          .atol = request.atol}));
  OPDUMP_CHECK_OK(writer.describe(golden, "golden"));
  OPDUMP_CHECK_OK(writer.describe(actual, "actual"));
  terminal::Progress progress("comparing");
  compare::CompareOptions options;
  options.rtol = request.rtol;
  options.atol = request.atol;
  options.take = [&](const compare::OperatorComparison& op) { writer.take(op); };
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  OPDUMP_TRY(const compare::Comparison comparison, compare::compare_dumps(golden, actual, options));
  OPDUMP_CHECK_OK(writer.conclude(comparison));
  if (const std::string steps = compare::describe_unrecorded_steps(golden, actual);
      comparison.outcome == compare::Answer::same && !steps.empty())
    terminal::print_remark(LogLevel::info, steps);
  return writer.finish();
}

Result<result::Database> look_at_one(const ResultRequest& request) {
  OPDUMP_TRY(const dump::DumpSet dump, dump::DumpSet::open(request.first, terminal::print_remark));
  const bool is_kept = !request.save_path.empty();
  OPDUMP_TRY(result::ResultWriter writer,
             result::ResultWriter::begin(
                 {.path = request.save_path,
                  .command = is_kept ? "opdump index " + request.first + " -o " + request.save_path
                                     : "opdump report " + request.first,
                  .golden = request.first}));
  OPDUMP_CHECK_OK(writer.describe(dump, "golden"));
  OPDUMP_CHECK_OK(writer.take_dump(dump));
  return writer.finish();
}

}  // namespace

void declare_result(CLI::App& app, ResultRequest& request) {
  app.add_option("RESULT|GOLDEN", request.first, "What opdump compare --save has written, or a dump")
      ->required();
  app.add_option("ACTUAL", request.second, "The dump to compare with it");
  app.add_option("--rtol", request.rtol, "Relative tolerance for every dtype")->check(not_negative());
  app.add_option("--atol", request.atol, "Absolute tolerance for every dtype")->check(not_negative());
  add_expansion_limit(app);
}

Result<MadeResult> index_dump(const ResultRequest& request) {
  OPDUMP_TRY(result::Database database, look_at_one(request));
  OPDUMP_TRY(std::string conclusion, result::find_value(database, "conclusion"));
  return MadeResult{std::move(database), std::move(conclusion)};
}

Result<MadeResult> make_result(const ResultRequest& request) {
  const bool is_kept = result::looks_like_result(request.first);
  if (is_kept && !request.second.empty())
    return Error(Code::usage, request.first + " is a result; it cannot be combined with ACTUAL");
  OPDUMP_TRY(result::Database database, is_kept                  ? result::open_result(request.first)
                                        : request.second.empty() ? look_at_one(request)
                                                                 : compare_two(request));
  OPDUMP_TRY(std::string conclusion, result::find_value(database, "blame"));  // says more, where it was asked
  if (conclusion.empty()) {
    OPDUMP_TRY(conclusion, result::find_value(database, "conclusion"));
  }
  return MadeResult{std::move(database), std::move(conclusion)};
}

}  // namespace opdump::cli
