// What an operator failed on: the search for it, and its record.
#include <algorithm>
#include <set>

#include "network.h"

namespace opdump::onnx {
namespace {

// The values of the first `node_end` operators that none of these reads: to have them, all of these must run.
std::vector<std::string_view> find_ends(const ModelFile& model, std::size_t node_end) {
  std::set<std::string_view> read;
  for (std::size_t i = 0; i < node_end; ++i) {
    read.insert(model.nodes[i].inputs.begin(), model.nodes[i].inputs.end());
    read.insert(model.nodes[i].captured.begin(), model.nodes[i].captured.end());
  }
  std::vector<std::string_view> ends;
  for (std::size_t i = 0; i < node_end; ++i)
    for (const std::string_view name : model.nodes[i].outputs)
      if (!name.empty() && !read.contains(name)) ends.push_back(name);
  return ends;
}

}  // namespace

// ONNX Runtime says that a model failed, and sometimes where. The first operator that fails is found by
// halving: the operators up to it fail together, those before it do not.
std::size_t Network::find_failing(std::size_t first, std::span<const Tensor> inputs) {
  std::size_t good = first, bad = model_.nodes.size();
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    try {
      run_ancestors(middle, find_ends(model_, middle), inputs);
      good = middle;
    } catch (const Failure&) {
      bad = middle;
    }
  }
  return bad - 1;
}

// Records what ran before the operator that failed, and it as one that failed.
void Network::tell_failing(Work work, std::span<const Tensor> inputs, const Failure& failure) {
  engine_.reset();  // room for what is tried
  plan_ = {};
  const std::size_t failing = find_failing(work.first, inputs);
  failed_ = failing;
  const Node& node = model_.nodes[failing];
  work.end = failing;
  work.keep.clear();
  for (const std::string_view name : node.inputs)
    if (model_.producers.contains(name)) work.keep.push_back(name);
  if (work.session) {
    Values values = begin_values(inputs);
    run_all(work, inputs, values);
    report(work, failing, values, true);
  }
  throw Failure("operator " + node.name + " (" + std::string(node.type) + ") failed: " + failure.what(),
                failure.status());
}

}  // namespace opdump::onnx
