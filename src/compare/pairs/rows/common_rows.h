// One model on other rows: a batch and one of its rows, or its rows in another order. Finds which rows of the
// two runs are the same, and what of each tensor is compared. Page: docs/rows.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/operator_pair.h"
#include "compare/pairs/rows/axis_map.h"
#include "compare/pairs/rows/batches.h"
#include "compare/pairs/rows/micro_batches.h"
#include "compare/pairs/rows/paired_runs.h"
#include "compare/pairs/rows/row_origin.h"
#include "compare/pairs/rows/row_sums.h"

namespace opdump::compare {

// "2=0,0=1": row 2 of golden is row 0 of actual. Errors: usage.
Result<std::vector<std::pair<std::int64_t, std::int64_t>>> parse_rows(std::string_view text);

class CommonRows {
 public:
  using Wanted = std::vector<std::pair<std::int64_t, std::int64_t>>;

  // Nothing where both runs have tensors of the same shapes, or where they differ otherwise than in rows that
  // the data of the programs has. `wanted` are rows that the user says are the same; then it is an error if
  // that is not possible. `split`: the calls of which the pairs are, if they are those of split_batches().
  // All but `batches` and `split` must outlive the result.
  static Result<std::unique_ptr<const CommonRows>> find(const dump::Runs& golden, const dump::Runs& actual,
                                                        std::span<const OperatorPair> pairs,
                                                        const Wanted& wanted, MicroBatches batches = {},
                                                        std::optional<SplitBatches> split = {});

  // Whether the first steps have an operator with other shapes. Quick: where they do not, find() finds
  // nothing.
  static bool may_be_other(const dump::Runs& golden, const dump::Runs& actual,
                           std::span<const OperatorPair> pairs);

  // Whether the first step has the same data in another order of rows.
  static bool may_be_reordered(const dump::Runs& golden, const dump::Runs& actual,
                               std::span<const OperatorPair> pairs);

  // Says what of the slots of a pair is compared. It must be one of those that find() got.
  void add_parts(OperatorComparison& op, const OperatorPair& pair) const;

  // Whether an operator that only one run has puts data together, as padding does: what reads it shows it.
  bool only_chooses(const OperatorPair& pair) const;

  // "row 2 of 4 = the only row, by equal elements of input.1 of Default/words-Embedding/embedding-op0"
  const std::string& note() const { return note_; }
  // Why the map may be wrong; empty if the data confirms it.
  const std::string& doubt() const { return doubt_; }
  // Whether the data of a step shows which rows are the same: it is not alike in all of them, as a mask is.
  bool is_telling() const { return is_telling_; }
  // Whether each run has all rows of the other: micro-batches or steps that together have all rows of a
  // batch, or steps that together have all positions of one pass.
  bool has_all_rows() const { return !batches_.all.empty() || cover_all(); }
  // The same, but for positions, as those that pad a row.
  bool has_all_rows_in_part() const { return has_all_rows() || cover_rows(); }
  // Whether steps have the same rows, and other positions of them.
  bool differs_in_positions() const;
  // Whether, besides, nothing is left out.
  bool are_all_there() const { return left_out_ == 0 && has_all_rows(); }
  // How many micro-batches of one run are a batch of the other, 0 if that is not so, and which run has them.
  std::uint32_t batch_count() const { return batches_.count(); }
  bool has_golden_batches() const { return batches_.are_of_golden; }
  // How many steps have other rows.
  std::size_t steps() const { return maps_.size(); }
  // How many operators of both runs follow from sums over rows that only one run has: nothing is said of
  // them.
  std::uint64_t left_out() const { return left_out_; }

 private:
  CommonRows(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs,
             MicroBatches batches)
      : runs_(golden, actual, pairs), batches_(std::move(batches)), sums_(runs_), origins_(runs_) {}
  // Rank, step of golden, step of actual, number of the micro-batch. Of split batches, calls are the steps.
  using Frame = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::uint32_t>;
  const SplitRows* split_of(const Frame& frame) const;
  Result<bool> solve(const Wanted& wanted);
  bool find_maps(const std::map<Frame, std::vector<std::size_t>>& frames, const Wanted& wanted);
  bool has_other_shape(std::span<const std::size_t> places) const;
  std::optional<Frame> frame_of(const OperatorPair& pair) const;

  bool is_complete(const Frame& frame) const;
  bool cover_all() const;
  bool cover_rows() const;
  bool is_of_sum(const Frame& frame, std::size_t place) const;
  std::string describe_batches() const;

  PairedRuns runs_;
  MicroBatches batches_;
  std::optional<SplitBatches> split_;
  RowSums sums_;
  mutable RowOrigins origins_;
  std::map<Frame, RowAxisMap> maps_;
  std::string note_, doubt_;
  bool is_telling_ = false;
  std::uint64_t left_out_ = 0;
};

}  // namespace opdump::compare
