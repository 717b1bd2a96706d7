// Pairs what two dumps have in one frame, in several passes: each joins some of what has no partner yet.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compare/operator_pair.h"
#include "compare/pairs/frame/frame.h"

namespace opdump::compare {

class FramePairing {
 public:
  FramePairing(FrameRuns golden, FrameRuns actual, const FrameRule& rule);

  // Where one side has more operators of a kind in a scope, equal numbers are not the same operators: those
  // whose shapes and neighbours agree are joined, in order. Operators of data-loading workers are not: of
  // them only the last are missing. Returns how many.
  std::uint32_t join_sequences();

  // Where a dump is a log of DebugMode: those of a type in modules of one path, and then all of a type, in
  // order, or by shapes and neighbours where one side has more.
  void join_paths();

  // Leaves out what has no partner and need not be in the log of DebugMode: what ran before or after the log,
  // and what only moves data, which a recording does not list in each step. Returns how many ran outside.
  std::uint32_t leave_out_unlogged();

  void join_names();

  // Where parameters are updated in another order, or in other groups, operators of an optimizer are those of
  // the same parameter, not those of the same number. Call it after join_names().
  void join_updates();

  // Where one side has operators more, two of a name in their scope whose shapes differ are not the same
  // operator, and stay alone. So do those of which each has the shapes of another one's partner: they ran in
  // another order. If most shapes differ, the data has another shape, and names hold. Returns
  // whether there were such.
  bool separate_reshaped();

  // The usual case, and cheap to recognise.
  bool has_equal_names() const;

  // Which operators an engine made of several of the other dump, or put in, and which have no partner because
  // of that. Returns whether there is one made of several.
  bool note_fusions();

  // Shapes may have to be read from files: only for what names did not settle.
  void join_signatures();

  void join(std::uint32_t g, std::uint32_t a, PairedBy method);
  void separate(std::uint32_t g);
  bool is_joined(std::uint32_t g) const { return golden_.partners[g] != OperatorPair::kNone; }
  // Says whether everything has a partner.
  bool is_whole() const;

  // Returns golden in order, and before each operator the extras that ran after the partner of the one before
  // it.
  void append_pairs(std::vector<OperatorPair>& pairs) const;

 private:
  // Joins what has no partner and one kind, which `kind_of` gives or not: by shapes and neighbours where one
  // side has more, else, if `joins_all`, in order. Returns how many by shapes.
  template <typename KindOf>
  std::uint32_t join_kinds(const KindOf& kind_of, bool joins_all, bool reads_tensors);
  // The kinds of all operators of the two parts, by which neighbours are compared.
  struct KindsOfBoth {
    const std::vector<std::string>&golden, &actual;
  };
  // Joins those whose shapes, neighbours and, with `reads_tensors`, data agree best: one side has more.
  void join_aligned(std::span<const std::uint32_t> of_golden, std::span<const std::uint32_t> of_actual,
                    const KindsOfBoth& kinds, bool reads_tensors);
  // Joins what has no partner yet and agrees in its key, in order of execution. An empty key is none.
  template <typename KeyOf>
  void join_equal(bool by_graph, PairedBy method, const KeyOf& key_of);

  FrameRuns golden_, actual_;
  std::map<std::uint32_t, ElementOrder> orders_;  // by the place in golden, where lists have another order
  const FrameRule* rule_;
};

}  // namespace opdump::compare
