#include "compare/rules/same/joined_results.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace opdump::compare {
namespace {

bool begins_with(std::span<const double> rest, const std::vector<double>& piece, double limit) {
  if (piece.size() > rest.size()) return false;
  const double squares = std::inner_product(piece.begin(), piece.end(), piece.begin(), 0.0);
  const double largest = limit * std::sqrt(squares / static_cast<double>(piece.size()));
  return squares > 0 && std::ranges::equal(piece, rest.first(piece.size()),
                                           [&](double a, double b) { return std::abs(a - b) <= largest; });
}

}  // namespace

std::vector<std::size_t> find_pieces(std::span<const double> whole,
                                     std::span<const std::vector<double>> pieces, double limit) {
  std::vector<std::size_t> found;
  while (!whole.empty()) {
    std::size_t next = 0;
    while (next < pieces.size() &&
           (std::ranges::find(found, next) != found.end() || !begins_with(whole, pieces[next], limit)))
      ++next;
    if (next < pieces.size()) {
      found.push_back(next);
      whole = whole.subspan(pieces[next].size());
    } else if (whole.front() == 0) {
      whole = whole.subspan(1);
    } else {
      return {};
    }
  }
  return found.size() > 1 ? found : std::vector<std::size_t>();
}

}  // namespace opdump::compare
