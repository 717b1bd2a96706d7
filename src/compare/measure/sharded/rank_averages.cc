#include "compare/measure/sharded/rank_averages.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace opdump::compare {
namespace {

constexpr double kRounded = 4e-3;  // relative L2 distance of a mean that was rounded to 16 bits

bool is_rounded_from(std::span<const double> rounded, std::span<const double> exact) {
  double distance = 0, norm = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    distance += (rounded[i] - exact[i]) * (rounded[i] - exact[i]);
    norm += exact[i] * exact[i];
  }
  return norm > 0 && distance <= kRounded * kRounded * norm;
}

// Whether `part` is one of `parts` parts of `whole` along its first axis, as torch.chunk makes them. What
// sum(0, keepdim=True) gives for a vector has an axis of size 1 before it.
bool is_chunk(std::span<const double> whole, const model::Shape& shape, std::size_t parts,
              std::span<const double> part) {
  if (parts == 1) return whole.size() == part.size() && is_rounded_from(part, whole);
  const auto axis = std::ranges::find_if(shape.dims(), [](std::int64_t size) { return size != 1; });
  if (axis == shape.dims().end() || *axis == 0) return false;
  const auto rows = static_cast<std::size_t>(*axis);
  const std::size_t chunk = (rows + parts - 1) / parts * (whole.size() / rows);
  for (std::size_t first = 0; first < whole.size(); first += chunk) {
    const auto own = whole.subspan(first, std::min(chunk, whole.size() - first));
    if (own.size() == part.size() && is_rounded_from(part, own)) return true;
  }
  return false;
}

}  // namespace

void RankAverages::add(const std::string& op, std::uint32_t rank, Tensor tensor) {
  if (tensor.elements.size() > kMostElements - kept_) return;
  kept_ += tensor.elements.size();
  outputs_[op].insert_or_assign(rank, std::move(tensor));
}

// The ranks lie row-major in a mesh, and average over one of its dimensions.
bool RankAverages::is_average(const OfRanks& of_ranks, std::uint32_t rank, const Tensor& tensor) {
  const auto own = of_ranks.find(rank);
  if (own == of_ranks.end() || tensor.error > kLargerError * own->second.error) return false;
  std::vector<const Tensor*> all;
  for (const auto& [other, of_rank] : of_ranks) all.push_back(&of_rank);
  const auto place = static_cast<std::size_t>(std::distance(of_ranks.begin(), own));
  const model::Shape& shape = own->second.shape;
  for (std::size_t ranks = 1; ranks <= all.size(); ++ranks)
    for (std::size_t step = 1; all.size() % ranks == 0 && step <= all.size() / ranks; ++step) {
      if (all.size() / ranks % step != 0) continue;
      std::vector<double> sum(own->second.elements.size());
      const std::size_t first = place - place / step % ranks * step;
      bool fits = true;
      for (std::size_t i = 0; i < ranks; ++i) {
        const Tensor& one = *all[first + i * step];
        fits = fits && one.shape == shape;
        for (std::size_t at = 0; fits && at < sum.size(); ++at) sum[at] += one.elements[at];
      }
      std::vector<double> mean = sum;
      for (double& element : mean) element /= static_cast<double>(ranks);
      for (std::size_t parts = 1; fits && parts <= all.size(); ++parts)
        if (all.size() % parts == 0 &&
            (is_chunk(sum, shape, parts, tensor.elements) || is_chunk(mean, shape, parts, tensor.elements)))
          return true;
    }
  return false;
}

bool RankAverages::contain(std::uint32_t rank, const Tensor& tensor) const {
  constexpr std::size_t kFewest = 2;  // a single element is equal by chance
  return tensor.elements.size() >= kFewest && std::ranges::any_of(outputs_, [&](const auto& output) {
           return is_average(output.second, rank, tensor);
         });
}

}  // namespace opdump::compare
