#include "cli/diff/closer_look.h"

#include <functional>
#include <utility>

#include "base/file/file_replacement.h"
#include "blame/report.h"
#include "cli/compare/replay.h"
#include "cli/record/growing.h"
#include "compare/names.h"
#include "result/page.h"
#include "result/schema.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

constexpr const char* kStepName = "step";

RecordingOptions with_budget(RecordingOptions options, const Looking& looking) {
  if (!looking.budget.empty()) options.insert(options.end(), {"--budget", looking.budget});
  return options;
}

RecordingOptions fingerprints_of(const Looking& looking) {
  return {"--steps", looking.steps, "--fingerprints"};
}

Result<RecordedSide> record_side(const DiffSide& side, const std::string& name,
                                 const RecordingOptions& options, const Looking& looking,
                                 const std::function<bool()>& poll = {}) {
  OPDUMP_TRY(SideRun recording, record(side, name, with_budget(options, looking), poll));
  OPDUMP_TRY(dump::DumpSet dump, open_recording(side, recording));
  return RecordedSide{std::move(recording), std::move(dump)};
}

Result<> write_report(const Looking& looking, result::ResultWriter& saved, const blame::BlameAnswer& blamed,
                      DiffAnswer& answer) {
  OPDUMP_CHECK_OK(note_blame(saved, blamed));
  OPDUMP_TRY(result::Database database, saved.finish());
  const auto page = result::render_page(database);
  if (!page) return answer.notes.push_back("no report: " + page.error().message()), ok();
  answer.report = (looking.folder / "report.html").string();
  return write_named_file(answer.report, *page, 0644);
}

// The tensors know more than their statistics.
void take_blame(blame::BlameAnswer blamed, DiffAnswer& answer) {
  const std::string steps = compare::format_ranges(answer.rerun);
  switch (blamed.outcome) {
    case blame::BlameOutcome::differs: {
      const dump::OperatorRun& run = blamed.findings.front().op.run();
      answer.step = run.step;
      answer.op = compare::operator_name(run);
      answer.source = run.op != nullptr && !run.op->source_file.empty()
                          ? run.op->source_file + ":" + std::to_string(run.op->source_line)
                          : "";
      break;
    }
    case blame::BlameOutcome::same:
      answer.outcome = DiffOutcome::not_reproducible;
      answer.notes.push_back("by their fingerprints: " + answer.sentence);
      answer.sentence = "cannot tell: when A and B ran again, they did not differ in step " + steps +
                        "; ask whether they are deterministic: opdump diff with one of the command lines";
      return;
    case blame::BlameOutcome::rounding:
      answer.outcome = DiffOutcome::rounding;
      break;
    case blame::BlameOutcome::incomplete:
      break;  // the statistics' answer stands
  }
  if (blamed.outcome != blame::BlameOutcome::incomplete) {
    answer.notes.clear();
    answer.sentence = blame::first_line(blamed);
  }
  answer.blame = std::move(blamed);
}

Result<> blame_step(const Looking& looking, const RecordedSide& golden, const RecordedSide& actual,
                    ReplayWorkers& workers, DiffAnswer& answer) {
  answer.golden = golden.dump.path().string();
  answer.actual = actual.dump.path().string();
  auto saved = result::ResultWriter::begin({.path = (looking.folder / "result.opdump").string(),
                                            .command = "opdump diff",
                                            .golden = answer.golden,
                                            .actual = answer.actual});
  compare::CompareOptions options;
  if (saved) {
    OPDUMP_CHECK_OK(saved->describe(golden.dump, "golden"));
    OPDUMP_CHECK_OK(saved->describe(actual.dump, "actual"));
    options.take = [&](const compare::OperatorComparison& op) { saved->take(op); };
  }
  const auto compared = [&](const compare::Comparison& comparison) {
    return saved ? saved->conclude(comparison) : ok();
  };
  OPDUMP_TRY(blame::BlameAnswer blamed,
             ask_blame(golden.dump, actual.dump, workers, looking.blame.limit, std::move(options), compared));
  if (saved) OPDUMP_CHECK_OK(write_report(looking, *saved, blamed, answer));
  take_blame(std::move(blamed), answer);
  return ok();
}

}  // namespace

void announce(const DiffSide& side) {
  terminal::print_error("running " + side.name + " for fingerprints: " + side.command.text);
}

Result<RecordedSide> record_fingerprints(const DiffSide& side, const std::string& name,
                                         const Looking& looking) {
  announce(side);
  return record_side(side, name, fingerprints_of(looking), looking);
}

Result<RecordedSide> record_against(dump::DumpSet& golden, const std::optional<Noise>& noise,
                                    const DiffSide& side, const Looking& looking) {
  if (looking.keep_going) return record_side(side, kFingerprintsName, fingerprints_of(looking), looking);
  Growth growth(side.folder / kFingerprintsName);
  SameSoFar same;
  return record_side(side, kFingerprintsName, fingerprints_of(looking), looking, [&] {
    return growth.poll([&](dump::DumpSet& actual) {
      const std::int64_t step = same.look(golden, actual);
      const auto judge = [&] {
        const dump::LaterRuns later_golden = golden.hide_before(step),
                              later_actual = actual.hide_before(step);
        return judge_runs(golden, actual, noise);
      };
      const auto answer = judge();
      return answer && !answer->rerun.empty() && has_ended(actual, *answer->rerun.rbegin());
    });
  });
}

void note_end(DiffAnswer& answer, const DiffSide& side, const RecordedSide& run) {
  const std::string text = describe_end(side, run.recording);
  if (!text.empty()) {
    answer.notes.push_back(text + "; its output is in " + run.recording.log.string());
    if (exit_of(answer) == Exit::match) {
      answer.outcome = DiffOutcome::incomplete;
      answer.sentence += ", but " + side.name + " did not come to its end";
    }
  }
  for (const auto& [rank, status] : run.dump.statuses())
    for (const dump::Loss& loss : status.losses)
      if (loss.what.find("recording stopped") != std::string::npos) {
        answer.notes.push_back(side.name + " is not recorded from " + loss.first + " on: " + loss.reason);
        if (exit_of(answer) == Exit::match) answer.outcome = DiffOutcome::incomplete;
      }
}

Result<> look_closer(const Looking& looking, const std::vector<DiffSide>& sides, DiffAnswer& answer) {
  const std::string steps = compare::format_ranges(answer.rerun);
  const RecordingOptions options{"--steps", steps};
  if (looking.no_rerun) {
    answer.notes.emplace_back("to see which operator is to blame, run both again for the tensors of step " +
                              steps + ":");
    for (const DiffSide& side : sides)
      answer.commands.push_back(recording_command(side, kStepName, with_budget(options, looking)));
    answer.commands.push_back("opdump blame " + quote_word((sides[0].folder / kStepName).string()) + " " +
                              quote_word((sides[1].folder / kStepName).string()));
    return ok();
  }
  terminal::print_error("they part in step " + steps + "; running both again for its tensors");
  ReplayWorkers workers(looking.blame.python, looking.blame.limits);
  OPDUMP_TRY(const RecordedSide golden, record_side(sides[0], kStepName, options, looking));
  OPDUMP_TRY(const RecordedSide actual, record_side(sides[1], kStepName, options, looking));
  return blame_step(looking, golden, actual, workers, answer);
}

}  // namespace opdump::cli
