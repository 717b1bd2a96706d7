#include "blame/calibrate.h"

#include <utility>

#include "blame/evidence.h"
#include "blame/request.h"

namespace opdump::blame {

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
