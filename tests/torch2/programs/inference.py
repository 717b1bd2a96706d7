import torch
torch.manual_seed(0)
m = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2).eval()
with torch.inference_mode():
    y = m(torch.randn(2, 5, 16), src_key_padding_mask=torch.tensor([[0,0,0,0,1],[0,0,0,1,1]]).bool())
print(y.shape, float(y.nan_to_num().abs().sum()) > 0)
