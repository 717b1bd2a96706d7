// Which operator made the first NaN of a run, and the first infinity that nobody asked for.
//
//   masked_fill(x, mask, -inf)    asks for its infinities
//   exp(100) in float32           makes one: the first infinity
//   softmax of a row of -inf      makes the first NaN, although its inputs are not finite
#pragma once

#include <cstdint>
#include <optional>

#include "model/operator.h"

namespace opdump::model {

struct NotFinite {
  std::uint64_t nan = 0, inf = 0;
  bool is_counted = true;  // false: what is known is that there are any, or none

  NotFinite& operator+=(const NotFinite& other);
};

// Takes the executions of a run in their order, slot by slot, the inputs of each first.
class NotFiniteSearch {
 public:
  struct NotFiniteTensor {
    std::uint64_t run = 0;
    Side side = Side::output;
    std::uint32_t index = 0;
    NotFinite found, read;  // in the slot; in all inputs of the execution

    bool is_made_here() const { return side == Side::output; }
  };

  // `may_ask`: an argument of the execution is an infinity, as of masked_fill(x, mask, -inf).
  void begin(std::uint64_t run, bool may_ask);
  // `is_number`: the tensor has one element. An infinite number that no execution made is a constant of the
  // program, as torch.tensor(-inf) that fills a mask: it is asked for.
  void take(Side side, std::uint32_t index, const std::optional<NotFinite>& found, bool is_number = false);
  void end();

  // The first execution that reads or makes a NaN; of its slots the first, and an input rather than an
  // output.
  const std::optional<NotFiniteTensor>& nan() const { return nan_; }
  // The first execution that makes a NaN and reads none.
  const std::optional<NotFiniteTensor>& made_nan() const { return made_nan_; }
  // The first output with an infinity that its execution neither read nor was asked for.
  const std::optional<NotFiniteTensor>& made_infinity() const { return made_; }
  // The first infinity that no execution before made.
  const std::optional<NotFiniteTensor>& outer_infinity() const { return outer_; }
  bool has_asked() const { return has_asked_; }

 private:
  std::optional<NotFiniteTensor> nan_, made_nan_, made_, outer_;
  std::optional<NotFiniteTensor> nan_here_, made_here_;  // in the execution in hand
  std::uint64_t run_ = 0;
  NotFinite read_ = {};
  bool may_ask_ = false, has_asked_ = false, has_infinite_output_ = false;
};

}  // namespace opdump::model
