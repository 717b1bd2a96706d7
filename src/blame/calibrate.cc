#include "blame/calibrate.h"

#include <utility>

#include "blame/evidence.h"
#include "blame/request.h"
#include "compare/compare.h"

namespace opdump::blame {

Result<> calibrate_gains(const dump::DumpSet& golden, const dump::DumpSet& actual,
                         compare::GainTable& gains) {
  using compare::GainSource;
  compare::GainMeter by_outputs(GainSource::outputs), by_statistics(GainSource::statistics);
  compare::CompareOptions options;
  options.take = [&](const compare::OperatorComparison& op) {
    for (compare::GainMeter* meter : {&by_outputs, &by_statistics})
      for (const compare::Gain& gain : meter->measure(op)) gains.add(op.run().type, gain);
  };
  OPDUMP_TRY([[maybe_unused]] const auto comparison, compare::compare_dumps(golden, actual, options));
  return ok();
}

Result<> calibrate(const dump::DumpSet& dump, const Replay& replay, Calibrated& calibrated) {
  const dump::Runs& runs = dump.runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const dump::OperatorRun run = runs[i];
    auto request = make_request(nullptr, &run, {.calibrates = true});
    if (!request) {
      ++calibrated.left_out[request.error().message()];
      continue;
    }
    OPDUMP_TRY(const std::string reply, replay(std::move(*request)));
    OPDUMP_TRY(const Replayed replayed, parse_replayed(reply));
    if (replayed.is_done)
      ++calibrated.operators;
    else
      ++calibrated.left_out[replayed.reason];
  }
  return ok();
}

}  // namespace opdump::blame
