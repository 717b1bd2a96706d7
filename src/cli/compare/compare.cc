// `opdump compare GOLDEN ACTUAL`: which operator went wrong first.
#include "compare/compare.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/log.h"
#include "base/text/text.h"
#include "base/worker_pool.h"
#include "cli/arguments.h"
#include "cli/compare/blame.h"
#include "cli/compare/outcome.h"
#include "cli/compare/pairing_options.h"
#include "cli/compare/without_option.h"
#include "cli/select.h"
#include "cli/verb.h"
#include "compare/measure/share.h"
#include "compare/names.h"
#include "compare/pairs/across/pair_across.h"
#include "compare/pairs/sharded/shard_rules.h"
#include "compare/rules/rule.h"
#include "group/group.h"
#include "report/csv.h"
#include "report/jsonl.h"
#include "report/module_table.h"
#include "report/shown_rows.h"
#include "report/table.h"
#include "result/writer.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace opdump::cli {
namespace {

constexpr std::size_t kMostModules = 24;         // lines
constexpr std::uint64_t kLargestMap = 64 << 20;  // bytes

struct CompareArguments {
  std::string golden, actual, csv_path, save_path, map_path, shard_path;
  PairingArguments pairing;
  bool json = false, all = false, blames = false, by_module = false;
  RunFilter filter;
  std::string colour = "auto";
  BlameArguments blame;
  std::vector<std::string> without;
  compare::CompareOptions options;
};

constexpr std::string_view kFooter =
    R"(An element differs if |actual - golden| > atol + rtol * |golden|. Without --rtol and --atol the
coarser dtype of the two decides: float16 1e-3/1e-5, bfloat16 1.6e-2/1e-5, float32 1.3e-6/1e-5,
float64 1e-7/1e-7 (rtol/atol, this atol times the root mean square of the golden tensor), integers
and bool exactly. NaN equals NaN.

--op, --module, --type, --step, --rank and --phase choose rows: the answer is that of the whole dumps.

Exit status: 0 no difference, 1 a difference, 2 wrong use, 3 incomplete or nothing compared.

Examples:
  opdump compare golden actual
  opdump compare golden actual --csv slots.csv --all
  opdump compare golden actual --stat --module Default --phase forward
  opdump compare golden/rank_0/net/0/3 actual/rank_0/net/0/3 --rtol 1e-3
  opdump compare golden actual --save run.opdump
  opdump compare golden actual --explain
  opdump compare reference port --pair-by results
  opdump compare golden actual --json | tail -1)";

void declare(CLI::App& app, CompareArguments& arguments) {
  app.add_option("GOLDEN", arguments.golden,
                 "The trusted dump: its root, any directory below it, or one file")
      ->required();
  app.add_option("ACTUAL", arguments.actual, "The dump to compare with it")->required();
  app.add_option("--csv", arguments.csv_path,
                 "Write one row for each pair of tensors to this file; '-': to stdout, without a table");
  app.add_option("--save", arguments.save_path,
                 "Keep the result in this file, for opdump query, report and view");
  app.add_flag("--json", arguments.json,
               "Print the tensors of the table's operators as JSON lines, then a summary");
  app.add_flag("--all", arguments.all, "List every operator, also those that match");
  app.add_flag("--stat", arguments.by_module,
               "First how many operators of each module differ, and by how much");
  add_filter(app, arguments.filter, {"execution", "error", "name"});
  app.add_option("--color", arguments.colour, "auto, always or never; auto obeys NO_COLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--rtol", arguments.options.rtol, "Relative tolerance for every dtype")
      ->check(not_negative());
  app.add_option("--atol", arguments.options.atol, "Absolute tolerance for every dtype, as it is")
      ->check(not_negative());
  app.add_flag("--bitwise", arguments.options.is_bitwise,
               "Elements must be equal bit by bit: names the first operator that is not")
      ->excludes("--rtol", "--atol");
  app.add_option("--map", arguments.map_path,
                 "Which operators are the same: lines \"GOLDEN-NAME ACTUAL-NAME\", '-' for none");
  add_pairing_options(app, arguments.pairing);
  app.add_option("--shard", arguments.shard_path,
                 "How ranks hold tensors, where it cannot be found: lines of a mesh and placements");
  app.add_option("--threads", arguments.options.threads, "Threads to compare with; default: one per core")
      ->check(not_negative());
  app.add_flag("--explain", arguments.options.explain,
               "Then print which rules looked at the first bad operator, and what each said");
  add_without_option(app, arguments.without);
  app.add_flag("--blame", arguments.blames, "Then name the cause of the difference; see opdump blame");
  add_blame_options(app, arguments.blame);
  add_expansion_limit(app);
  app.footer(std::string(kFooter));
}

// What each rule said of the first bad operator.
std::string format_trace(const compare::Comparison& comparison) {
  std::size_t width = 0;
  for (const compare::TraceLine& line : comparison.trace) width = std::max(width, line.rule.size());
  std::string text = comparison.first_bad
                         ? "how it came to that:\n"
                         : "no operator is bad; what was asked when all had been looked at:\n";
  for (const auto& [rule, said] : comparison.trace)
    text += "  " + std::string(rule) + std::string(width - rule.size() + 2, ' ') +
            (said.empty() ? "-" : said) + "\n";
  return text;
}

bool is_narrow(const RunFilter& filter) {
  return !filter.op.empty() || !filter.module.empty() || !filter.type.empty();
}

// Rows that neither dump can have are a mistake, which shows before anything is compared.
Result<> check_filter(const dump::DumpSet& golden, const dump::DumpSet& actual, const RunFilter& filter) {
  if (!is_narrow(filter)) return ok();
  const auto chosen = select_runs(golden, filter);
  if (chosen || select_runs(actual, filter)) return ok();
  return Error(Code::usage, chosen.error().message());
}

// What the user gets to see: slots and operators while they are compared, the conclusion last.
class Reporter {
 public:
  Reporter(const CompareArguments& arguments, bool is_alone) : arguments_(arguments) {
    style_.all = arguments.all;
    if (arguments.colour != "auto")
      terminal::set_colour(arguments.colour == "always" ? terminal::Colour::always : terminal::Colour::never);
    style_.colour = is_alone && terminal::wants_colour();
    style_.row_limit = arguments.filter.limit;
    if (arguments.filter.sort == "error") style_.order = report::TableStyle::Order::error;
    if (arguments.filter.sort == "name") style_.order = report::TableStyle::Order::name;
    if (is_alone) style_.width = terminal::terminal_width();
    table_ = report::Table(style_);
    records_ = report::ShownRows<std::string>(style_);
  }

  Result<> open(const dump::DumpSet& golden, const dump::DumpSet& actual) {
    if (!arguments_.save_path.empty()) {
      result::WriterOptions options{.path = arguments_.save_path,
                                    .command = "opdump compare " + arguments_.golden + " " +
                                               arguments_.actual + (arguments_.blames ? " --blame" : ""),
                                    .golden = arguments_.golden,
                                    .actual = arguments_.actual,
                                    .rtol = arguments_.options.rtol,
                                    .atol = arguments_.options.atol};
      OPDUMP_TRY(saved_, result::ResultWriter::begin(std::move(options)));
      OPDUMP_CHECK_OK(saved_->describe(golden, "golden"));
      OPDUMP_CHECK_OK(saved_->describe(actual, "actual"));
    }
    if (arguments_.csv_path.empty()) return ok();
    if (!is_csv_printed()) {
      OPDUMP_TRY(csv_, FileReplacement::begin_named(arguments_.csv_path, 0644));
    }
    return write_csv(report::csv_header());
  }

  void take(const compare::OperatorComparison& op) {
    if (saved_) saved_->take(op);
    if (!is_asked_for(op)) return;
    found_ = true;
    if (arguments_.by_module) modules_.add(op);
    if (!arguments_.csv_path.empty() && written_) {
      text_.clear();
      report::append_csv_rows(text_, op);
      written_ = write_csv(text_);
    }
    if (!arguments_.json) return table_.add(op);
    if (!records_.wants(op)) return;
    text_.clear();
    report::append_json_lines(text_, op);
    if (style_.order == report::TableStyle::Order::execution)
      terminal::print_json(text_);
    else
      records_.add(op, text_);
  }

  // Returns the exit status.
  Result<int> conclude(const compare::Comparison& comparison) {
    OPDUMP_CHECK_OK(std::move(written_));
    const std::string chosen = describe_filter(arguments_.filter);
    if (!found_ && !chosen.empty())
      terminal::print_error("warning: no operator is of " + chosen + "; the answer is of all operators");
    if (csv_) OPDUMP_CHECK_OK(csv_->finish());
    if (saved_) OPDUMP_CHECK_OK(saved_->conclude(comparison));
    if (saved_ && !arguments_.blames) OPDUMP_CHECK_OK(saved_->finish());
    if (arguments_.json) {
      for (const std::string* lines : records_.ordered()) terminal::print_json(*lines);
      terminal::print_json(
          report::summary_json_line(comparison, arguments_.golden, arguments_.actual, records_.left_out()));
    } else if (is_csv_printed()) {
      terminal::print_log(report::format_summary(comparison, style_));
    } else {
      bool has_table = false;
      terminal::print(report::format_opening(comparison, style_.width));
      bool has_modules = false;
      modules_.print(style_.width, kMostModules, [&](std::string_view line) {
        has_modules = true;
        terminal::print(line);
      });
      if (has_modules) terminal::print("\n");
      // Where nothing differs, what one run alone has is explained: it is no row.
      if (comparison.outcome != compare::Answer::same || arguments_.all)
        table_.print(comparison.has_ranks, [&](std::string_view line) {
          has_table = true;
          terminal::print(line);
        });
      if (has_table) terminal::print("\n");
      if (!chosen.empty())
        terminal::print("rows: only those of " + chosen + "; what follows is about all operators\n");
      terminal::print(report::format_summary(comparison, style_));
      if (arguments_.options.explain) terminal::print("\n" + format_trace(comparison));
    }
    if (comparison.outcome == compare::Answer::differs && !arguments_.blames && style_.width > 0)
      terminal::print_remark(LogLevel::info,
                             "opdump blame runs operators again, and may name the cause behind it");
    else if (comparison.outcome == compare::Answer::same && !arguments_.blames &&
             !arguments_.options.is_bitwise &&
             comparison.golden_units.has_value() != comparison.actual_units.has_value())
      terminal::print_remark(
          LogLevel::info,
          "a fault that is smaller than the rounding of such units does not show here: opdump "
          "blame runs operators again and finds it");
    return static_cast<int>(exit_of_answer(comparison.outcome));
  }

  // What is to blame, after conclude().
  Result<> note_blame(const blame::BlameAnswer& answer) {
    if (!saved_) return ok();
    OPDUMP_CHECK_OK(cli::note_blame(*saved_, answer));
    OPDUMP_CHECK_OK(saved_->finish());
    return ok();
  }

 private:
  // The verdict is that of all operators, whatever the rows.
  bool is_asked_for(const compare::OperatorComparison& op) const {
    if (!selects(arguments_.filter, op.run())) return false;
    return compare::operator_name(op.run()).find(arguments_.filter.op) != std::string::npos;
  }

  bool is_csv_printed() const { return arguments_.csv_path == "-"; }
  Result<> write_csv(std::string_view text) {
    if (csv_) return csv_->append(text);
    std::string lines(text);
    std::erase(lines, '\r');  // on stdout, lines end as those of every program
    terminal::print(lines);
    return ok();
  }

  const CompareArguments& arguments_;
  report::TableStyle style_;
  report::Table table_{style_};
  report::ShownRows<std::string> records_{style_};  // JSON lines, if not in the order of execution
  report::ModuleTable modules_;
  std::optional<FileReplacement> csv_;
  std::optional<result::ResultWriter> saved_;
  Result<> written_ = ok();
  bool found_ = false;  // an operator that was asked for
  std::string text_;    // kept for its memory
};

Result<compare::Comparison> compare_with_progress(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                                  compare::CompareOptions options, bool prints_slots) {
  terminal::Progress progress("comparing");
  if (!prints_slots || !terminal::prints_to_terminal())  // the lines show progress, and break a bar
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  return compare::compare_dumps(golden, actual, options);
}

// The table first, then the answer.
Result<int> compare_and_blame(const dump::DumpSet& golden, const dump::DumpSet& actual,
                              ReplayWorkers& workers, CompareArguments& arguments) {
  Reporter reporter(arguments, true);
  OPDUMP_CHECK_OK(reporter.open(golden, actual));
  arguments.options.take = [&](const compare::OperatorComparison& op) { reporter.take(op); };
  const auto conclude = [&](const compare::Comparison& comparison) -> Result<> {
    OPDUMP_CHECK_OK(reporter.conclude(comparison));
    if (!arguments.json) terminal::print("\n");
    return ok();
  };
  return print_blame(
      golden, actual, workers, arguments.blame.limit, arguments.options,
      {.json = arguments.json,
       .all = arguments.all,
       .compared = conclude,
       .answered = [&](const blame::BlameAnswer& answer) { return reporter.note_blame(answer); }});
}

// What the process has to do in its group. All of them get the same result, unless one sees other files.
Result<int> compare_in(const group::Group& group, CompareArguments& arguments) {
  const group::Share share{group.rank(), group.size(), 0,
                           [&](const std::string& mine) { return group.exchange(mine); }};
  if (group.size() > 1) {
    if (arguments.blames) return Error(Code::usage, "--blame does not work with several MPI processes");
    arguments.options.share = &share;
    if (arguments.options.threads == 0)
      arguments.options.threads =
          std::max<unsigned>(1, worker_count(0) / static_cast<unsigned>(group.size_here()));
  }
  ReplayWorkers workers(arguments.blame.python, arguments.blame.limits);
  if (arguments.blames) workers.prepare();
  const LogSink log = group.is_leader() ? LogSink(terminal::print_remark) : LogSink();
  auto golden = dump::DumpSet::open(arguments.golden, log);
  auto actual = golden ? dump::DumpSet::open(arguments.actual, log) : Result<dump::DumpSet>(golden.error());
  if (!actual) {
    if (group.size() > 1) OPDUMP_CHECK_OK(group::withdraw(share, actual.error().message()));
    return actual.take_error();
  }
  if (auto checked = check_filter(*golden, *actual, arguments.filter); !checked) {
    if (group.size() > 1) OPDUMP_CHECK_OK(group::withdraw(share, checked.error().message()));
    return checked.take_error();
  }
  if (arguments.blames) return compare_and_blame(*golden, *actual, workers, arguments);
  const bool is_alone = group.size() == 1;  // mpirun lets processes believe that they write to a terminal
  Reporter reporter(arguments, is_alone);
  if (group.is_leader()) {
    OPDUMP_CHECK_OK(reporter.open(*golden, *actual));
    arguments.options.take = [&](const compare::OperatorComparison& op) { reporter.take(op); };
  }
  OPDUMP_TRY(const compare::Comparison comparison,
             compare_with_progress(*golden, *actual, arguments.options, arguments.json));
  return group.is_leader() ? reporter.conclude(comparison) : Result<int>(0);
}

}  // namespace

Result<int> run_compare(std::span<const char* const> args) {
  CLI::App app("Compares two dumps and names the first operator that went wrong.", "opdump compare");
  CompareArguments arguments;
  declare(app, arguments);
  if (auto done = parse_arguments(app, args)) return *done;

  if (arguments.json && arguments.csv_path == "-")
    return Error(Code::usage, "--json and --csv - both print to stdout; give one of them");
  if (arguments.options.is_bitwise) arguments.options.rtol = arguments.options.atol = 0;
  OPDUMP_CHECK_OK(switch_off(arguments.without, arguments.options));
  if (!arguments.map_path.empty()) {
    OPDUMP_TRY(const std::string text, read_file(arguments.map_path, kLargestMap));
    auto map = compare::parse_pairing_map(text);
    if (!map) return map.take_error().within(arguments.map_path);
    arguments.options.map = std::move(*map);
  }
  if (!arguments.shard_path.empty()) {
    OPDUMP_TRY(const std::string text, read_file(arguments.shard_path, kLargestMap));
    auto rules = compare::parse_shard_rules(text);
    if (!rules) return rules.take_error().within(arguments.shard_path);
    arguments.options.shards = std::make_shared<const compare::ShardRules>(std::move(*rules));
  }
  OPDUMP_CHECK_OK(use_pairing(arguments.pairing, arguments.options));
  OPDUMP_TRY(const group::Group group, group::Group::join());
  auto status = compare_in(group, arguments);
  return group.is_leader() ? std::move(status) : Result<int>(0);  // the leader speaks for all
}

}  // namespace opdump::cli
