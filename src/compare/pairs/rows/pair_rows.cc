#include "compare/pairs/rows/pair_rows.h"

#include <utility>
#include <vector>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/rows/batches.h"
#include "compare/pairs/rows/continuations.h"
#include "compare/pairs/rows/micro_batches.h"

namespace opdump::compare {
namespace {

using Found = std::unique_ptr<const CommonRows>;

// Why the answer is not whole, though what was compared agrees.
void note_doubts(const CommonRows& rows, const WantedRows& request, Pairing& pairing) {
  if (!request.wanted.empty()) {
    if (!rows.doubt().empty()) pairing.incomplete.push_back(rows.doubt());
    return;
  }
  // Data that has lost rows may be the fault.
  if (!request.is_asked && !rows.has_all_rows())
    pairing.incomplete.push_back("one run has other rows: " + rows.note() +
                                 "; only these are compared, and --rows auto says that this is meant");
  if (const std::uint64_t count = rows.left_out(); count > 0)
    pairing.incomplete.push_back(
        counted(count, "operator", "follow") +
        " from sums over rows that only one run has; --rows says that this is meant");
}

// One row lies in memory otherwise than several: a run copies what the other one only views.
void leave_out_moves(const dump::Runs& golden, const dump::Runs& actual, const CommonRows& rows,
                     std::vector<OperatorPair>& pairs) {
  for (OperatorPair& pair : pairs) {
    if (pair.is_whole() || pair.is_alone || pair.fusion != Fusion::none) continue;
    const dump::OperatorRun run = pair.golden != OperatorPair::kNone ? golden.without_slots(pair.golden)
                                                                     : actual.without_slots(pair.actual);
    if (kind_of(run.type).role == OperatorRole::moves || rows.only_chooses(pair)) pair.fusion = Fusion::moves;
  }
}

}  // namespace

Result<Found> pair_rows(const RunsOfBoth& runs, const WantedRows& request, Pairing& pairing) {
  const auto& [golden, actual, tails, filters] = runs;
  const bool is_wanted = request.is_asked.value_or(false) || !request.wanted.empty();
  if (!is_wanted && request.is_asked) return Found();
  const bool have_other_shapes =
      pairing.has_reshaped || CommonRows::may_be_other(golden, actual, pairing.pairs);
  if (!is_wanted && !have_other_shapes && !CommonRows::may_be_reordered(golden, actual, pairing.pairs))
    return Found();
  // Operators of one name have other shapes where rows are others.
  Pairing by_name = have_other_shapes ? pair_operators(golden, actual, tails, true, filters) : pairing;
  OPDUMP_TRY(Found rows, CommonRows::find(golden, actual, by_name.pairs, request.wanted));
  if (auto batches = request.wanted.empty() ? pair_micro_batches(golden, actual) : std::nullopt) {
    std::swap(by_name.pairs, batches->pairs);
    OPDUMP_TRY(Found all, CommonRows::find(golden, actual, by_name.pairs, request.wanted, batches->batches));
    if (all != nullptr && (is_wanted || all->is_telling())) {
      pairing = std::move(by_name);
      if (!batches->leaves_end_open) pairing.incomplete.clear();  // of what follows the last step
      note_doubts(*all, request, pairing);
      leave_out_moves(golden, actual, *all, pairing.pairs);
      return all;
    }
    std::swap(by_name.pairs, batches->pairs);
  }
  if (request.wanted.empty() && (rows == nullptr || !(rows->has_all_rows() || rows->differs_in_positions())))
    for (const CallStart start : {CallStart::step, CallStart::first_module}) {
      SplitBatches split = split_batches(golden, actual, start);
      std::vector<OperatorPair> pairs = std::exchange(split.pairs, {});
      OPDUMP_TRY(Found all, CommonRows::find(golden, actual, pairs, {}, {}, std::move(split)));
      if (all == nullptr || !all->is_telling() || !all->has_all_rows_in_part()) continue;
      pairing = {.pairs = std::move(pairs), .notes = {"the runs call the model with other numbers of rows"}};
      note_doubts(*all, request, pairing);
      leave_out_moves(golden, actual, *all, pairing.pairs);
      return all;
    }
  if (rows == nullptr) return rows;
  // Without a request, only where all follows from rows that both have: in a training step that has lost
  // rows, what depends on the batch as a whole is the question.
  if (!is_wanted && (!rows->is_telling() || (trains(golden) && !rows->are_all_there()))) {
    pairing.notes.push_back("--rows auto compares what both runs have: " + rows->note());
    return Found();
  }
  pairing = std::move(by_name);
  // Steps that go on where golden's has ended already.
  if (auto pairs = pair_continuations(golden, actual, pairing.pairs); !pairs.empty()) {
    std::swap(pairs, pairing.pairs);
    OPDUMP_TRY(Found all, CommonRows::find(golden, actual, pairing.pairs, request.wanted));
    if (all != nullptr && all->steps() > rows->steps()) {
      rows = std::move(all);
      pairing.notes.push_back("steps of actual continue the one of golden before them");
    } else {
      pairing.pairs = std::move(pairs);
      OPDUMP_TRY(rows, CommonRows::find(golden, actual, pairing.pairs, request.wanted));
    }
  }
  note_doubts(*rows, request, pairing);
  leave_out_moves(golden, actual, *rows, pairing.pairs);
  return rows;
}

}  // namespace opdump::compare
