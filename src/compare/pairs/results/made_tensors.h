// The tensors that a run makes, to look up what is in the other one: by what is in them, whatever made them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compare/wiring/tensor_print.h"
#include "dump/read/dump_set.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// How far equal results of two programs are apart: their prints, their only numbers, and their elements.
// Rounding is less before a backward pass, and before weights are updated for the first time.
struct PrintTolerance {
  double prints = 0, numbers = 0, elements = 0;
};
inline constexpr PrintTolerance kFirstForward{4e-6, 1e-6, 2e-5}, kLater{2e-5, 2e-6, 1e-4};

// A tensor that an execution makes.
struct MadeTensor {
  std::uint32_t execution = 0, output = 0;
  std::optional<model::Shape> shape = {};
  TensorPrint print = {};
  bool is_read = false;  // it is not made by the execution, but a view or data that this reads
};

// The slot of a tensor in its dump.
std::optional<dump::Slot> slot_of(const dump::Runs& runs, const MadeTensor& made);

// Whether two tensors of one shape and with the same print have the same elements at the same places.
bool have_equal_elements(const dump::Runs& golden, const MadeTensor& g, const dump::Runs& actual,
                         const MadeTensor& a, const PrintTolerance& tolerance);

// None if its file cannot be read.
std::optional<dump::StoredTensor> read_tensor(const dump::Runs& runs, const MadeTensor& made);

// What a run makes, to look up what is in the other one.
class MadeByRun {
 public:
  // Tensors with numbers that are not finite are not found again.
  void add(const MadeTensor& made) {
    if (std::isfinite(made.print.norm)) by_count_[made.print.exact.count].emplace(made.print.norm, &made);
  }

  // Those with the same print, by execution; some of them where many have it, as tensors of zeros.
  std::vector<const MadeTensor*> find(const TensorPrint& print, const PrintTolerance& tolerance) const;

 private:
  std::map<std::uint64_t, std::multimap<double, const MadeTensor*>> by_count_;  // and norm
};

}  // namespace opdump::compare
