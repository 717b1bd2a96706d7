#include "model/overwriting.h"

#include <algorithm>
#include <iterator>

namespace opdump::model {

bool only_overwrites(std::string_view type) {
  constexpr std::string_view kTypes[] = {
      "bernoulli_",  "cauchy_", "copy_",    "exponential_", "fill_",          "geometric_",    "normal_",
      "log_normal_", "random_", "uniform_", "zero_",        "_foreach_copy_", "_foreach_zero_"};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

}  // namespace opdump::model
