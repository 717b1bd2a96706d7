// Sides that run: for fingerprints of all steps, and both again for the tensors of the step in which they
// part.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/compare/blame.h"
#include "cli/diff/answer.h"
#include "cli/diff/judge.h"
#include "cli/diff/side.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

// What the user wants of all runs.
struct Looking {
  std::string budget{};      // of each recording; empty: that of `opdump run`
  std::string steps{"all"};  // that are compared
  bool no_rerun = false;
  bool keep_going = false;  // do not stop B where it parts from A
  BlameArguments blame{};
  std::filesystem::path folder{};  // for the result and the page
};

struct RecordedSide {
  SideRun recording;
  dump::DumpSet dump;
};

inline constexpr const char* kFingerprintsName = "fingerprints";

// Says which command runs.
void announce(const DiffSide& side);

// Runs a side for fingerprints, and says so; opens what was recorded into the folder `name` in that of the
// side. Errors: those of record() and open_recording().
Result<RecordedSide> record_fingerprints(const DiffSide& side, const std::string& name,
                                         const Looking& looking);

// The same, in silence, of a side that is stopped once it has come to the end of the step in which it parts
// from golden.
Result<RecordedSide> record_against(dump::DumpSet& golden, const std::optional<Noise>& noise,
                                    const DiffSide& side, const Looking& looking);

// How a run ended, which may be why there is no more to compare.
void note_end(DiffAnswer& answer, const DiffSide& side, const RecordedSide& run);

// Records the steps `answer.rerun` of the two sides again, with tensors, and asks which operator is to blame.
Result<> look_closer(const Looking& looking, const std::vector<DiffSide>& sides, DiffAnswer& answer);

}  // namespace opdump::cli
