// Who made what the operators of a run read: as the recorder saw it, else by what is in the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "dump/read/runs.h"

namespace opdump::compare {

class Wiring {
 public:
  // The runs must outlive this. Nothing is read yet.
  explicit Wiring(const dump::Runs& runs) : runs_(runs) {}

  // An output of an execution, by their indices in dump::Runs and by operand.
  struct Output {
    std::uint32_t execution = 0, output = 0;
    auto operator<=>(const Output&) const = default;
  };

  const dump::Runs& runs() const { return runs_; }

  // Whether the recording says who made what; dumps of others and older ones do not.
  bool is_recorded() const { return runs_.have_wirings(); }

  // Whether an execution makes views, which are no tensors of their own.
  bool is_view(std::size_t execution) const;

  // The execution that made all of an input, an operand index, as recorded: views are made by operators, too.
  // `is_known` without a maker: no recorded operator made it.
  struct Recorded {
    bool is_known = false;
    std::optional<Output> maker = {};
  };
  Recorded recorded(std::uint32_t reader, std::uint32_t input) const;

  // The execution that made all of a tensor that `reader` reads: as recorded, else the last one before it of
  // its rank with the same elements, in any order, as far as that is quick. Nothing if none did, as of
  // weights and data.
  std::optional<std::size_t> maker(std::size_t reader, const dump::Slot& input) const;

  // All executions that are known to have written to what `reader` reads as an input, an operand index: who
  // made it, or what it is a view of, and who changed it since. A view that is not listed in the reader's
  // step stands for what wrote to what it views. Not whole: there are others, which the dump does not have.
  struct Writers {
    std::vector<std::uint32_t> executions = {};
    bool are_whole = true;
  };
  Writers writers(std::uint32_t reader, std::uint32_t input) const;

  // All executions of the run that read an output, itself or a view of it, in order. Nothing if none is known
  // to, or if others may: through views that their step does not list.
  std::optional<std::vector<std::uint32_t>> readers(Output output) const;

  // The same, with those that read any output of its execution through views that their step does not list,
  // as another step lists them. Empty if none is known.
  std::vector<std::uint32_t> likely_readers(Output output) const;

  // The executions that read an output itself, or take a view of it, whoever reads that.
  std::vector<std::uint32_t> users(Output output) const;

  // Whether everything that an execution made was replaced before anything read it: a random initialisation
  // over which weights are loaded. A view that no operator reads is no reader: memory that leaves the engine
  // has no known maker from then on. False where that is not certain, as always where nothing is recorded.
  bool is_overwritten_unread(std::uint32_t execution) const;

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // rank, number of the operator, step
  void read() const;
  void read_uses() const;
  std::optional<std::uint32_t> find(std::uint32_t reader, const dump::CallWiring::Maker& maker) const;
  void add_writers(const dump::CallWiring::Maker& maker, std::uint32_t rank, std::int64_t step,
                   std::set<Key>& seen, Writers& found) const;
  bool is_dead(std::uint32_t execution, unsigned depth) const;
  bool hands_on(std::uint32_t execution, std::uint32_t reader) const;
  // Through views, each once, whatever a file says of who made what. False if others may read it, too,
  // through views that their step does not list; `adds_viewers`: these are added, as another step lists them.
  bool add_readers(Output output, bool adds_viewers, std::set<std::uint32_t>& found) const;
  bool is_unread_view(std::uint32_t execution) const;
  static constexpr std::uint32_t kSeveral = UINT32_MAX;  // executions have one key
  static constexpr unsigned kMostInARow = 64;            // operators that write to one tensor in place

  struct Use {
    std::uint32_t reader = 0;
    bool overwrites = false;  // without reading it
  };

  const dump::Runs& runs_;
  mutable bool is_read_ = false, has_read_uses_ = false;
  mutable std::map<Key, std::uint32_t> executions_;
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> first_;  // by rank and operator
  mutable std::map<Output, std::vector<Use>> uses_;
  // Executions that are read through views which their step does not list, and who reads them.
  mutable std::map<std::uint32_t, std::vector<std::uint32_t>> viewed_;
  mutable std::map<std::uint32_t, bool> dead_;  // what was asked
};

}  // namespace opdump::compare
