"""Cross-validation with scikit-learn: arrays in and out, a fresh model for each fold, early exit of loops."""

import fingerprint
import numpy
import torch
from sklearn.datasets import make_regression
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

x, y = make_regression(60, 5, noise=0.1, random_state=0)
for fold, (train, test) in enumerate(KFold(2, shuffle=True, random_state=0).split(x)):
    torch.manual_seed(fold)
    scaler = StandardScaler().fit(x[train])
    inputs, targets = torch.as_tensor(scaler.transform(x[train])), torch.from_numpy(y[train])
    model = torch.nn.Linear(5, 1).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(inputs).squeeze(1) - targets).pow(2).mean()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        guess = model(torch.as_tensor(scaler.transform(x[test]))).squeeze(1).numpy()
    print(fold, float(r2_score(y[test], guess)).hex(), fingerprint.of(model.state_dict()), numpy.abs(guess).max().hex())
