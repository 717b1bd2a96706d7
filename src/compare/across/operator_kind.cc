#include "compare/across/operator_kind.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace opdump::compare {
namespace {

using Names = std::span<const std::string_view>;

// Types in small letters, without '_' and without the version at their end.
constexpr std::string_view kConv[] = {"conv",
                                      "conv1d",
                                      "conv2d",
                                      "conv2dbackpropinput",
                                      "conv2dtranspose",
                                      "conv3d",
                                      "convinteger",
                                      "convolution",
                                      "convolutionoverrideable",
                                      "convtranspose",
                                      "cudnnconvolution",
                                      "depthwiseconv2dnative",
                                      "fusedconv",
                                      "mkldnnconvolution",
                                      "nhwcfusedconv",
                                      "qlinearconv",
                                      "slowconv2dforward",
                                      "slowconvtranspose2d"};
constexpr std::string_view kLinear[] = {"addbmm", "addmm",  "baddbmm",       "batchmatmul",  "bmm",
                                        "dense",  "dot",    "fusedgemm",     "gemm",         "fusedmatmul",
                                        "linear", "matmul", "matmulinteger", "mkldnnlinear", "mklinear",
                                        "mm",     "mv",     "qlinearmatmul"};
constexpr std::string_view kBatchNorm[] = {"batchnorm",
                                           "batchnormalization",
                                           "batchnormwithupdate",
                                           "cudnnbatchnorm",
                                           "fusedbatchnorm",
                                           "nativebatchnorm",
                                           "nativebatchnormlegit",
                                           "nativebatchnormlegitnotraining",
                                           "nativebatchnormlegitfunctional",
                                           "fusedbatchnormex"};
constexpr std::string_view kLayerNorm[] = {"layernorm", "layernormalization", "nativelayernorm",
                                           "simplifiedlayernormalization", "skiplayernormalization"};
constexpr std::string_view kGroupNorm[] = {"groupnorm", "groupnormalization", "nativegroupnorm"};
constexpr std::string_view kEmbedding[] = {"embedding", "embeddinglookup", "gather", "indexselect",
                                           "resourcegather"};
constexpr std::string_view kAdd[] = {"add", "addn", "biasadd", "tensoradd"};
constexpr std::string_view kDiv[] = {"div", "realdiv", "truediv"};
constexpr std::string_view kMaxPool[] = {"maxpool", "maxpool2d", "maxpool2dwithindices", "mkldnnmaxpool2d"};
constexpr std::string_view kMean[] = {
    "adaptiveavgpool2d", "averagepool", "avgpool",    "avgpool2d",
    "globalaveragepool", "mean",        "reducemean", "mkldnnadaptiveavgpool2d"};
constexpr std::string_view kSum[] = {"reducesum", "sum"};
constexpr std::string_view kMax[] = {"amax", "max", "reducemax"};
constexpr std::string_view kConcat[] = {"cat", "concat", "pack", "stack"};
constexpr std::string_view kResize[] = {"resize",           "resizebilinear",     "resizenearestneighbor",
                                        "upsample",         "upsamplebilinear2d", "upsamplenearest2d",
                                        "upsamplebicubic2d"};
constexpr std::string_view kRecurrent[] = {"cudnnrnn",       "gru", "gruunit", "lstm",   "lstmcell",
                                           "mkldnnrnnlayer", "rnn", "rnnrelu", "rnntanh"};
constexpr std::string_view kClip[] = {"clamp", "clampmin", "clip", "clipbyvalue", "hardtanh", "relu6"};
constexpr std::string_view kGelu[] = {"biasgelu", "fastgelu", "gelu"};
constexpr std::string_view kSilu[] = {"silu", "swish"};
constexpr std::string_view kSoftmax[] = {"safesoftmax", "softmax"};
constexpr std::string_view kMoves[] = {"alias",         "asstrided",     "cast",
                                       "chunk",         "clone",         "contiguous",
                                       "copy",          "depend",        "dequantizelinear",
                                       "detach",        "dropout",       "expand",
                                       "expandas",      "expanddims",    "fill",
                                       "flatten",       "identity",      "lift",
                                       "liftfresh",     "load",          "narrow",
                                       "nativedropout", "permute",       "quantizelinear",
                                       "reorderinput",  "reorderoutput", "reshape",
                                       "reshapealias",  "select",        "slice",
                                       "split",         "splitv",        "splitwithsizes",
                                       "squeeze",       "stridedslice",  "t",
                                       "tocopy",        "transpose",     "unbind",
                                       "unpack",        "unsafesplit",   "unsafeview",
                                       "unsqueeze",     "view"};
constexpr std::string_view kMakes[] = {"arange",
                                       "arg",
                                       "const",
                                       "constant",
                                       "constantofshape",
                                       "empty",
                                       "emptylike",
                                       "emptystrided",
                                       "eyelike",
                                       "full",
                                       "fulllike",
                                       "linspace",
                                       "localscalardense",
                                       "noop",
                                       "normal",
                                       "ones",
                                       "oneslike",
                                       "placeholder",
                                       "rand",
                                       "randint",
                                       "randn",
                                       "randomnormal",
                                       "randomuniform",
                                       "randperm",
                                       "range",
                                       "readvariableop",
                                       "scalartensor",
                                       "shape",
                                       "size",
                                       "truncatednormal",
                                       "uniform",
                                       "variable",
                                       "zero",
                                       "zeros",
                                       "zeroslike",
                                       "newemptystrided",
                                       "bernoulli"};

struct Alias {
  std::string_view name;
  Names types;
};
const Alias kAliases[] = {{"conv", kConv},
                          {"linear", kLinear},
                          {"batchnorm", kBatchNorm},
                          {"layernorm", kLayerNorm},
                          {"groupnorm", kGroupNorm},
                          {"embedding", kEmbedding},
                          {"add", kAdd},
                          {"div", kDiv},
                          {"maxpool", kMaxPool},
                          {"mean", kMean},
                          {"sum", kSum},
                          {"max", kMax},
                          {"concat", kConcat},
                          {"resize", kResize},
                          {"recurrent", kRecurrent},
                          {"clip", kClip},
                          {"gelu", kGelu},
                          {"silu", kSilu},
                          {"softmax", kSoftmax}};

bool contains(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

std::string plain(std::string_view type) {
  // TensorFlow's versions: "AddV2"
  if (type.size() > 2 && type[type.size() - 2] == 'V' &&
      std::isdigit(static_cast<unsigned char>(type.back())) != 0)
    type.remove_suffix(2);
  std::string text;
  for (const char c : type)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find(separator, first), text.size());
    if (end > first) pieces.push_back(text.substr(first, end - first));
    first = end + 1;
  }
  return pieces;
}

}  // namespace

OperatorKind kind_of(std::string_view type) {
  std::string name = plain(type);
  for (const Alias& alias : kAliases)
    if (contains(alias.types, name)) return {std::string(alias.name), OperatorRole::computes};
  const OperatorRole role = contains(kMoves, name)   ? OperatorRole::moves
                            : contains(kMakes, name) ? OperatorRole::makes
                                                     : OperatorRole::computes;
  return {std::move(name), role};
}

std::string module_path(std::string_view name) {
  const bool has_classes = name.starts_with("Default/") || name.starts_with(model::kGradients);
  std::vector<std::string_view> scopes = split(name, '/');
  if (!scopes.empty()) scopes.pop_back();
  if (has_classes && !scopes.empty()) scopes.erase(scopes.begin());
  std::vector<std::string_view> path;
  for (std::string_view scope : scopes) {
    if (has_classes) scope = scope.substr(0, scope.rfind('-'));
    const std::vector<std::string_view> parts = split(scope, '.');
    // "layer1.0" in "layer1" is "0"
    std::size_t known = std::min(parts.size(), path.size());
    while (known > 0 && !std::equal(path.end() - static_cast<std::ptrdiff_t>(known), path.end(),
                                    parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(known)))
      --known;
    path.insert(path.end(), parts.begin() + static_cast<std::ptrdiff_t>(known), parts.end());
  }
  std::string text;
  for (const std::string_view piece : path) text.append(text.empty() ? "" : ".").append(piece);
  return text;
}

std::string_view framework_of(std::string_view runtime) { return runtime.substr(0, runtime.find(' ')); }

}  // namespace opdump::compare
