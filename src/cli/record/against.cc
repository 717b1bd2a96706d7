#include "cli/record/against.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/text.h"
#include "cli/compare/outcome.h"
#include "cli/diff/command_line.h"
#include "cli/record/new_folder.h"
#include "cli/verb.h"
#include "compare/compare.h"
#include "compare/facts/unfinished.h"
#include "dialect/dialects.h"
#include "report/summary.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAgainst = "--against", kStopAtFirst = "--stop-at-first", kCheck = "--check";

bool names_what_to_record(const RecordingArguments& recording) {
  const dialect::Request& request = recording.request;
  return !recording.config.empty() || !request.steps.empty() || !request.ops.empty() ||
         !request.module.empty() || !request.budget.empty() || request.tensors || request.statistics ||
         request.fingerprints;
}

// Files of a dump that other files equal to the last byte become links to these.
class Links {
 public:
  void add(const compare::SlotComparison& slot) {
    if (slot.golden == nullptr || slot.actual == nullptr || slot.verdict != compare::Verdict::match ||
        slot.golden->file.empty() || slot.actual->file.empty())
      return;
    // What cannot be linked, as on another file system, stays a file.
    const auto linked = replace_by_link(slot.actual->file, slot.golden->file);
    if (!linked || *linked == 0) return;
    ++count_;
    bytes_ += *linked;
  }
  std::string describe() const {
    return count_ == 0 ? ""
                       : counted(count_, "tensor") + " (" + format_bytes(bytes_) + ") " +
                             inflect(count_, "is a link", "are links") + " to equal ones of golden";
  }

 private:
  std::uint64_t count_ = 0, bytes_ = 0;
};

}  // namespace

void add_against_options(CLI::App& app, AgainstArguments& arguments) {
  auto* const against =
      app.add_option(std::string(kAgainst), arguments.golden,
                     "compare with this dump while the program runs, and say which operator is the first bad "
                     "one as soon as that is known; records what that dump has, into a new folder")
          ->type_name("GOLDEN");
  app.add_flag(std::string(kStopAtFirst), arguments.stop_at_first, "end the program there")->needs(against);
  app.add_flag(std::string(kCheck), arguments.check,
               "exit with the status of the comparison if the program ends well: 0 no difference, 1 a "
               "difference, 3 no complete answer")
      ->needs(against);
}

Against::Against(AgainstArguments arguments, dump::DumpSet golden, fs::path actual)
    : arguments_(std::move(arguments)),
      golden_(std::move(golden)),
      actual_(std::move(actual)),
      growth_(actual_) {}

Result<Against> Against::begin(const AgainstArguments& arguments, RecordingArguments& recording) {
  auto golden = dump::DumpSet::open(arguments.golden, terminal::print_remark);
  if (!golden) return Error(Code::usage, "--against: " + golden.error().message());
  std::error_code ignored;
  const fs::path config = fs::path(arguments.golden) / dialect::kConfigName;
  if (!names_what_to_record(recording) && fs::exists(config, ignored)) recording.config = config.string();
  if (recording.request.output.empty()) {
    OPDUMP_TRY(const fs::path folder, find_free_folder("", "opdump_actual"));
    recording.request.output = folder.string();
  }
  if (fs::equivalent(recording.request.output, arguments.golden, ignored))
    return Error(Code::usage, "--against: " + arguments.golden + " is the folder to record into");
  return Against(arguments, std::move(*golden), recording.request.output);
}

std::optional<Against::EarlyFinding> Against::compare_later(dump::DumpSet& actual) {
  const std::int64_t step = same_.look(golden_, actual);
  const dump::LaterRuns later_golden = golden_.hide_before(step), later_actual = actual.hide_before(step);
  compare::CompareOptions options;
  options.threads = 1;
  const auto comparison = compare::compare_dumps(golden_, actual, options);
  if (!comparison || !comparison->first_bad) return std::nullopt;
  if (comparison->outcome == compare::Answer::nothing_compared) return std::nullopt;  // said at the end
  return EarlyFinding{.step = comparison->first_bad->run().step, .sentence = report::conclusion(*comparison)};
}

bool Against::poll() {
  if (has_found_) return false;
  const bool has_found = growth_.poll([&](dump::DumpSet& actual) {
    const std::optional<EarlyFinding> found = compare_later(actual);
    if (!found || !has_ended(actual, found->step)) return false;
    terminal::print_error(found->sentence);
    return true;
  });
  has_found_ = has_found;
  if (has_found && arguments_.stop_at_first)
    terminal::print_error("ending the program at the first difference");
  return has_found && arguments_.stop_at_first;
}

Result<int> Against::conclude() const {
  auto actual = dump::DumpSet::open(actual_, terminal::print_remark);
  if (!actual) return static_cast<int>(Exit::incomplete);  // which has been reported
  Links links;
  compare::CompareOptions options;
  options.take = [&](const compare::OperatorComparison& op) {
    for (const compare::SlotComparison& slot : op.slots) links.add(slot);
  };
  OPDUMP_TRY(const compare::Comparison comparison, compare::compare_dumps(golden_, *actual, options));
  if (const std::string text = links.describe(); !text.empty()) terminal::print_error(text);
  if (comparison.outcome != compare::Answer::differs)
    for (const std::string& reason : comparison.incomplete) terminal::print_error("incomplete: " + reason);
  terminal::print_error(report::conclusion(comparison));
  if (const std::string steps = compare::describe_unrecorded_steps(golden_, *actual);
      comparison.outcome == compare::Answer::same && !steps.empty())
    terminal::print_error(steps);
  if (comparison.outcome == compare::Answer::differs)
    terminal::print_error("more: opdump blame " + quote_word(arguments_.golden) + " " +
                          quote_word(actual_.string()));
  return static_cast<int>(exit_of_answer(comparison.outcome));
}

Result<int> Against::finish(ProgramRun& run) const {
  OPDUMP_TRY(const int answer, conclude());
  if (run.was_stopped) run.status = 0;
  return run.was_stopped || arguments_.check ? answer : 0;
}

bool is_against_option(std::string_view word) { return word == kAgainst; }

Result<int> run_against(std::span<const char* const> args, const AgainstArguments& arguments,
                        RecordingArguments recording) {
  const RecordingArguments given = recording;
  OPDUMP_TRY(Against against, Against::begin(arguments, recording));
  OPDUMP_TRY(const fs::path program, find_own_program());
  std::vector<std::string> words{program.string(), "run"};
  if (given.request.output.empty()) words.insert(words.end(), {"-o", recording.request.output});
  if (given.config != recording.config) words.insert(words.end(), {"--config", recording.config});
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view word = args[i];
    if (word == kAgainst)
      ++i;
    else if (word != kStopAtFirst && word != kCheck && !word.starts_with(std::string(kAgainst) + "="))
      words.emplace_back(word);
  }
  OPDUMP_TRY(ProgramRun run, run_program(words, [&] { return against.poll(); }));
  if (run.error != 0) return report_failure(words[0], run.error);
  OPDUMP_TRY(const int code, against.finish(run));
  return run.status == 0 ? code : pass_on(run.status);
}

}  // namespace opdump::cli
