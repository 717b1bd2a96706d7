// Whether two recordings are the same to the last bit, and where the first bit differs. No tolerance and no
// rules: this is for runs that ought to be the same. compare/compare.h judges others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dump/read/dump_set.h"

namespace opdump::cli {

// Where two recordings part, in the order of execution of the first.
struct Parting {
  std::int64_t step = 0;
  std::uint32_t rank = 0;
  std::string op{}, type{}, source{};  // full name; "train.py:31"
  std::string slot{};                  // "output.0"; empty: only one of them has the operator
  bool only_in_second = false;         // if `slot` is empty
  bool is_random = false;              // it draws random numbers
  bool same_inputs = true;             // an output differs although it read the same
  std::string arguments{};             // "fill_value is 0.3 in the first run and 0.8 in the second"
  // Where the second run reads what the first reads in `slot`, if not there: an operator of the same type.
  std::optional<std::int64_t> other_step{};
  std::string other_op{};
  std::string state{};  // of the engine, that it depends on, in the first and in the second
  std::string other_state{};
};

struct BitComparison {
  std::optional<Parting> first;
  std::int64_t steps = 0;        // that both have
  std::uint64_t tensors = 0;     // of both, until they part
  std::int64_t only_in_one = 0;  // steps of one of them
};

// Operators are the same by rank, step and name. What has neither data nor statistics does not count, nor
// what data-loading workers prepare ahead and only one run has.
BitComparison compare_bits(const dump::DumpSet& first, const dump::DumpSet& second);

// The hash of its content; empty if there is none.
std::string digest_of(const dump::Slot& slot);

}  // namespace opdump::cli
