// Tensors that one run keeps in one, one behind the other, as the parameters that FSDP flattens.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace opdump::compare {

// Which of `pieces` a tensor has one behind the other, by their places in this order: each at most once, with
// nothing but zeros between them and behind them. An element may be off by `limit`, relative to the root mean
// square of its piece. Empty if the tensor has anything else, or is one piece.
std::vector<std::size_t> find_pieces(std::span<const double> whole,
                                     std::span<const std::vector<double>> pieces, double limit);

}  // namespace opdump::compare
