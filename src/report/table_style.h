// How a comparison is to be shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace opdump::report {

struct TableStyle {
  bool all = false;                      // also the operators that match
  bool colour = false;                   // ANSI colours
  std::optional<std::size_t> row_limit;  // default: 20, any number if `all`; a line says how many are omitted
  std::size_t width = 0;  // of the terminal, which lines then fit: names are shortened in the middle
  enum class Order : std::uint8_t { execution, error, name };
  Order order = Order::execution;  // `error`: the largest relative error first; `name`: in natural order
  std::size_t line_limit = 10;     // for the reasons why the result may be incomplete
};

}  // namespace opdump::report
