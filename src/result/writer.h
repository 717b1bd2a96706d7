// Writes a comparison, or one dump, as a result: docs/formats/result.md. One transaction; the file appears
// under its name when it is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/compare.h"
#include "compare/measure/not_finite.h"
#include "dump/read/dump_set.h"
#include "result/database.h"

namespace opdump::result {

struct WriterOptions {
  std::string path{};                    // of the file; empty: a result that only this process sees
  std::string command{};                 // as the user gave it
  std::string golden{}, actual{};        // paths as the user gave them; `actual` is empty for one dump
  std::optional<double> rtol{}, atol{};  // of the comparison
  std::size_t most_pictures = 400;       // tensors that get thumbnails: the first that differ
};

// An operator that `opdump blame` names; words as in its --json.
struct BlamedOperator {
  const dump::OperatorRun* run = nullptr;
  std::string_view slot{}, cause{}, confidence{};
  std::optional<double> removes{};  // the share of the final error that is gone without it
  std::string text{};               // what is wrong with it: "computes a wrong output.0: ..."
};

class ResultWriter {
 public:
  // Errors: io, unsupported (no SQLite).
  static Result<ResultWriter> begin(WriterOptions options);
  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) noexcept;
  ~ResultWriter();  // removes what was not finished

  // A judged operator; an error is kept until finish(). The tensors that differ are read once more.
  void take(const compare::OperatorComparison& op);
  // Takes all operators of one dump, with the statistics of their tensors. Errors: io.
  Result<> take_dump(const dump::DumpSet& dump);

  // How a dump was recorded, and its graphs. `side`: "golden", "actual".
  Result<> describe(const dump::DumpSet& dump, std::string_view side);
  // The answer in one sentence, and what leaves it open.
  Result<> conclude(const compare::Comparison& comparison);
  Result<> conclude(std::string_view outcome, std::string_view sentence);
  // What `opdump blame` says of it, after conclude(): one sentence, and the culprits. Errors: io.
  Result<> note_blame(std::string_view sentence, std::span<const BlamedOperator> culprits);

  // The finished result, for reading. Errors: io.
  Result<Database> finish();

 private:
  class Rows;
  Result<> conclude_dump(const dump::DumpSet& dump, const compare::NotFiniteSearch& search);
  Result<bool> conclude_saturated(const dump::DumpSet& dump);
  explicit ResultWriter(std::unique_ptr<Rows> rows);
  std::unique_ptr<Rows> rows_;
};

}  // namespace opdump::result
