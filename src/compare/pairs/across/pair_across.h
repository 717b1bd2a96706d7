// Which operator of a run of one framework is which of another framework's: PyTorch against its own ONNX
// export. Names, numbers of operators and the order of branches differ; modules, weights, data and most of
// the order do not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compare/pairs/pair_slots.h"
#include "compare/pairs/pairing.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// Whether statuses say that the two were recorded from different frameworks.
bool are_of_different_frameworks(const dump::DumpSet& golden, const dump::DumpSet& actual);

// Whether one of the two is of a model that ONNX Runtime saved after it had put channels into blocks, or had
// moved transpositions: such operators have other names or layouts, and nothing says of which they were made.
bool is_one_saved_in_other_layout(const dump::Runs& golden, const dump::Runs& actual);

// Holds names of operators that a user declares to be the same: golden's, actual's. An empty name means that
// the other one has no partner.
using PairingMap = std::vector<std::pair<std::string, std::string>>;

// A line has a name of golden, white space, and a name of actual; '-' stands for no partner. Empty lines and
// lines that begin with '#' do not count. Errors: usage -- another number of names, with the line.
Result<PairingMap> parse_pairing_map(std::string_view text);

// Pairs the operators of steps that both have (of the only step of each, whatever its number), in this order:
//   - `map`,
//   - values: both compute the same, whatever the shape and the order of elements,
//   - name: both are operators of ONNX of one name and type,
//   - weights: both are of one kind and read the same weights,
//   - data flow: both are of one kind and read what paired operators compute,
//   - path: both are of one kind in modules of one path, in order; or the last ones of a module,
//   - order: both are of one kind and size between operators that are paired.
// What only moves data and what only one framework has is left out, with the reason. Errors: usage -- a name
// in `map` that neither dump has.
Result<Pairing> pair_across(const dump::Runs& golden, const dump::Runs& actual, const TailsOfBoth& tails,
                            const PairingMap& map, unsigned threads);

// Slots of such a pair: inputs and outputs by number of elements, by what is in them where several have it,
// and in order. Only the first input of operators `has_other_weights` counts. The statistics of a batch
// normalisation do not count, except those that its result depends on.
std::vector<SlotPair> pair_slots_across(const dump::OperatorRun& golden, const dump::OperatorRun& actual,
                                        bool has_other_weights);

// An operator that stands for those from `first` on: it reads what `first` reads.
dump::OperatorRun join_runs(const dump::Runs& runs, std::uint32_t first, std::uint32_t last);

}  // namespace opdump::compare
