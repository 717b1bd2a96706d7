#include "plan/type_names.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/text/text.h"

namespace opdump::plan {
namespace {

struct Names {
  std::string_view torch;
  std::string_view mindspore;  // in lower case, with blanks between them
};

// Sorted by the name in torch. Names that contain MindSpore's, such as "sigmoid", need no row.
constexpr std::array kNames{
    Names{"_adaptive_avg_pool2d", "adaptiveavgpool2d reducemean"},
    Names{"_adaptive_avg_pool2d_backward", "adaptiveavgpool2dgrad"},
    Names{"_foreach_add", "assignadd"},
    Names{"_fused_adam", "adam fusedadam"},
    Names{"_fused_adamw", "adamweightdecay fusedadamweightdecay"},
    Names{"_fused_sgd", "applymomentum momentum sgd"},
    Names{"_log_softmax", "logsoftmax"},
    Names{"_log_softmax_backward_data", "logsoftmaxgrad"},
    Names{"_native_batch_norm_legit", "batchnorm"},
    Names{"_softmax", "softmax"},
    Names{"_softmax_backward_data", "softmaxgrad"},
    Names{"_to_copy", "cast"},
    Names{"_unsafe_view", "reshape"},
    Names{"addmm", "matmul biasadd"},
    Names{"amax", "reducemax"},
    Names{"amin", "reducemin"},
    Names{"avg_pool2d", "avgpool"},
    Names{"avg_pool2d_backward", "avgpoolgrad"},
    Names{"baddbmm", "batchmatmul"},
    Names{"bernoulli", "dropout"},
    Names{"binary_cross_entropy", "binarycrossentropy"},
    Names{"bitwise_and", "logicaland"},
    Names{"bitwise_not", "logicalnot"},
    Names{"bitwise_or", "logicalor"},
    Names{"bmm", "batchmatmul"},
    Names{"cat", "concat"},
    Names{"clamp", "clipbyvalue"},
    Names{"convolution", "conv1d conv2d conv3d"},
    Names{"convolution_backward",
          "conv2dbackpropinput conv2dbackpropfilter conv3dbackpropinput conv3dbackpropfilter"},
    Names{"copy", "assign"},
    Names{"cudnn_batch_norm", "batchnorm"},
    Names{"div", "realdiv"},
    Names{"embedding", "gather embeddinglookup"},
    Names{"embedding_dense_backward", "gathergrad unsortedsegmentsum"},
    Names{"eq", "equal"},
    Names{"ge", "greaterequal"},
    Names{"gelu_backward", "gelugrad"},
    Names{"gt", "greater"},
    Names{"hardsigmoid", "hsigmoid"},
    Names{"hardswish", "hswish"},
    Names{"hardtanh", "relu6"},
    Names{"index_select", "gather"},
    Names{"le", "lessequal"},
    Names{"leaky_relu", "leakyrelu"},
    Names{"logical_and", "logicaland"},
    Names{"logical_not", "logicalnot"},
    Names{"logical_or", "logicalor"},
    Names{"lt", "less"},
    Names{"max_pool2d_with_indices", "maxpool"},
    Names{"max_pool2d_with_indices_backward", "maxpoolgrad"},
    Names{"mean", "reducemean"},
    Names{"mm", "matmul"},
    Names{"mse_loss", "mseloss"},
    Names{"native_batch_norm", "batchnorm"},
    Names{"native_batch_norm_backward", "batchnormgrad"},
    Names{"native_dropout", "dropout"},
    Names{"native_dropout_backward", "dropoutgrad"},
    Names{"native_group_norm", "groupnorm"},
    Names{"native_layer_norm", "layernorm"},
    Names{"native_layer_norm_backward", "layernormgrad"},
    Names{"ne", "notequal"},
    Names{"nll_loss_backward", "nlllossgrad"},
    Names{"nll_loss_forward", "nllloss sparsesoftmaxcrossentropywithlogits"},
    Names{"one_hot", "onehot"},
    Names{"permute", "transpose"},
    Names{"prod", "reduceprod"},
    Names{"select", "stridedslice"},
    Names{"sigmoid_backward", "sigmoidgrad"},
    Names{"slice", "stridedslice"},
    Names{"sum", "reducesum biasaddgrad"},
    Names{"t", "transpose"},
    Names{"tanh_backward", "tanhgrad"},
    Names{"threshold_backward", "relugrad"},
    Names{"unsqueeze", "expanddims"},
    Names{"upsample_bilinear2d", "resizebilinear"},
    Names{"upsample_nearest2d", "resizenearestneighbor"},
    Names{"view", "reshape"},
    Names{"where", "select"},
};
static_assert(std::is_sorted(kNames.begin(), kNames.end(),
                             [](const Names& a, const Names& b) { return a.torch < b.torch; }));

}  // namespace

bool mindspore_calls(std::string_view torch_type, std::string_view text) {
  while (torch_type.ends_with('_')) torch_type.remove_suffix(1);  // in place
  const auto* found = std::ranges::lower_bound(kNames, torch_type, {}, &Names::torch);
  if (text.empty() || found == kNames.end() || found->torch != torch_type) return false;
  for (std::string_view rest = found->mindspore; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    if (rest.substr(0, end) == text) return true;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

namespace {

// What the forms of a type have in common: without the marks of kernels and of operators in place.
std::string_view stem(std::string_view type) {
  constexpr std::string_view kNative = "native_", kIndices = "_with_indices";
  while (type.starts_with('_')) type.remove_prefix(1);
  if (type.starts_with(kNative)) type.remove_prefix(kNative.size());
  while (type.ends_with('_')) type.remove_suffix(1);
  if (type.ends_with(kIndices)) type.remove_suffix(kIndices.size());
  return type;
}

}  // namespace

bool is_type(std::string_view torch_type, std::string_view text) {
  const std::string type = to_lower(torch_type);
  std::string lower = to_lower(text);
  if (!text.empty() && stem(type) == stem(lower)) return true;
  std::erase(lower, '_');
  return mindspore_calls(type, lower);
}

bool is_engine_type(std::string_view torch_type, std::string_view text) {
  if (is_type(torch_type, text)) return true;
  std::string_view bare = text;
  while (bare.size() > 1 && bare.back() >= '0' && bare.back() <= '9') bare.remove_suffix(1);
  if (bare.size() != text.size() && bare.ends_with('V'))
    return is_engine_type(torch_type, bare.substr(0, bare.size() - 1));
  return text.size() > 1 && text.ends_with('D') &&
         is_type(torch_type, text.substr(0, text.size() - 1));  // "ConcatD"
}

}  // namespace opdump::plan
