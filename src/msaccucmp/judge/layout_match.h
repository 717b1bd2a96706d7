// Brings a tensor of the accelerator into the layout and to the size of what it is compared with, by the
// rules of the original (cann.md 4.6, 5.1).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "msaccucmp/failure.h"
#include "msaccucmp/judge/fusion_rules.h"
#include "msaccucmp/read/dumped_tensor.h"

namespace opdump::msaccucmp {

// A change of layout that is asked for; `to_shape` is the shape without padding, as far as it is known.
struct LayoutChange {
  model::Format from = model::Format::nd, to = model::Format::nd;
  model::Shape from_shape, to_shape;
  std::int64_t groups = 0;
};

// Changes of layout that a user has added or replaced. Nothing if this one is not among them.
using LayoutPlugin =
    std::function<std::optional<Outcome<TensorData>>(const LayoutChange&, const TensorData&, Journal&)>;

// Two tensors of as many elements.
struct MatchedPair {
  TensorData mine, golden;
  model::Shape shape;  // of mine, as it is compared
};

struct MatchRequest {
  const std::string& op;  // for messages
  const DumpedTensor& mine;
  const DumpedTensor& golden;
  OriginTensor origin;        // what is told of `golden`
  bool is_detail = false;     // -op: both become NCHW, or NCDHW
  bool is_unchanged = false;  // two runs of the original model
  const LayoutPlugin& plugin;
};

// Failures: invalid_format, invalid_shape, invalid_dump, convert_function, fractal_nz.
Outcome<MatchedPair> match_layouts(MatchRequest request, Journal& journal);

// A tensor as it was before the device padded it: NCHW for four dimensions of the original shape, ND for two
// and three. Never fails: what cannot be restored stays as it is, and the log says so.
TensorData restore_original(const DumpedTensor& tensor, const LayoutPlugin& plugin, Journal& journal);

}  // namespace opdump::msaccucmp
