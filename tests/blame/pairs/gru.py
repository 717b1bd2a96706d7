# nn.GRU with h_n read out against GRU written out, forward only.  python gru.py golden|actual [sound|reset]
import sys, torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 10, 3, padding=1)
        self.gru = nn.GRU(10, 16)
        self.fc1 = nn.Linear(16, 16); self.fc2 = nn.Linear(16, 2)
    def recurrent(self, x):
        return self.gru(x)[1][0]
    def forward(self, x):
        x = torch.relu(self.conv(x)).permute(2, 0, 1)
        return self.fc2(torch.relu(self.fc1(self.recurrent(x))))
class Port(Net):
    """As exported to a runtime without GRU."""
    def recurrent(self, x):
        W, U, b, c = self.gru.weight_ih_l0, self.gru.weight_hh_l0, self.gru.bias_ih_l0, self.gru.bias_hh_l0
        n = U.shape[1]
        gx = torch.addmm(b, x.flatten(0, 1), W.t()).view(x.shape[0], x.shape[1], -1)
        h = x.new_zeros(x.shape[1], n)
        for g in gx:
            if "reset" in sys.argv:    # linear_before_reset = 0: reset is applied before the product
                rz = torch.sigmoid(g[:, :2 * n] + h @ U[:2 * n].t() + c[:2 * n])
                r, z = rz[:, :n], rz[:, n:]
                cand = torch.tanh(g[:, 2 * n:] + (r * h) @ U[2 * n:].t() + c[2 * n:])
            else:
                gh = h @ U.t() + c
                r = torch.sigmoid(g[:, :n] + gh[:, :n]); z = torch.sigmoid(g[:, n:2 * n] + gh[:, n:2 * n])
                cand = torch.tanh(g[:, 2 * n:] + r * gh[:, 2 * n:])
            h = (1 - z) * cand + z * h
        return h
torch.manual_seed(8)
net = (Net if sys.argv[1] == "golden" else Port)()
net.eval()
with torch.no_grad():
    for i in range(2):
        print(net(torch.randn(3, 6, 9)).flatten().tolist())
