// Whether a run computes all its sums of products with less precision than its types have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "blame/answer.h"
#include "blame/evidence.h"

namespace opdump::blame {

class SumPrecision {
 public:
  void note(const Replayed& replayed);
  // Units for matrices that round the inputs of all sums are no fault of one of them: takes such findings
  // out of the answer, with a note. What is left of them is certain if its error says so.
  void settle(BlameAnswer& answer) const;

 private:
  // Counts the sums of a run: those with inputs of less precision, by its name, and those with all of it.
  struct Sums {
    std::map<std::string, std::uint64_t> less;
    std::uint64_t full = 0;
    void note(const std::vector<OutputError>& outputs);
  };
  Sums golden_, actual_;
};

}  // namespace opdump::blame
