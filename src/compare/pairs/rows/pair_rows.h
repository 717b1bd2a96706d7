// Pairs two runs that have other rows of data.
#pragma once

#include <memory>
#include <optional>

#include "compare/pairs/pairing.h"
#include "compare/pairs/rows/common_rows.h"

namespace opdump::compare {

struct RunsOfBoth {
  const dump::Runs &golden, &actual;
  const TailsOfBoth& tails;
  const FiltersOfBoth& filters;
};

// What a user says of rows.
struct WantedRows {
  std::optional<bool> is_asked = {};  // see CompareOptions::finds_rows
  const CommonRows::Wanted& wanted;   // see CommonRows::find
};

// The rows that both have. `pairing`, of the runs as they are, becomes one of operators with other rows, with
// what is to be said of these. Null: the runs have the same rows, or nobody knows which ones, and `pairing`
// stays as it is. Nothing is tried without a request where the first steps have the same shapes.
Result<std::unique_ptr<const CommonRows>> pair_rows(const RunsOfBoth& runs, const WantedRows& request,
                                                    Pairing& pairing);

}  // namespace opdump::compare
