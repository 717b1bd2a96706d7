// Brings a tensor of the accelerator into the layout and to the size of what it is compared with, by the
// rules of the original (cann.md 4.6, 5.1).
#pragma once

#include <string>

#include "msaccucmp/judge/fusion_rules.h"
#include "msaccucmp/judge/layout_change.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/dumped_tensor.h"

namespace opdump::msaccucmp {

// Two tensors of as many elements.
struct MatchedPair {
  TensorData mine, golden;
  model::Shape shape;  // of mine, as it is compared
};

struct MatchRequest {
  const std::string& op;  // for messages
  const DumpedTensor& mine;
  const DumpedTensor& golden;
  OriginTensor origin;        // what is known of `golden`
  bool is_detail = false;     // -op: both become NCHW, or NCDHW
  bool is_unchanged = false;  // two runs of the original model
  const LayoutPlugin& plugin;
};

// Failures: invalid_format, invalid_shape, invalid_dump, convert_function, fractal_nz.
Outcome<MatchedPair> match_layouts(MatchRequest request, Log& log);

// A tensor as it was before the device padded it: NCHW for four dimensions of the original shape, ND for two
// and three. Never fails: what cannot be restored stays as it is, and the log says so.
TensorData restore_original(const DumpedTensor& tensor, const LayoutPlugin& plugin, Log& log);

}  // namespace opdump::msaccucmp
