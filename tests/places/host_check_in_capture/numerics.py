"""Linear algebra and checks of a second-order optimizer."""

import torch


def precondition(gradient: torch.Tensor, covariance: torch.Tensor) -> torch.Tensor:
    factor = torch.linalg.cholesky(covariance)  # expect: CG307
    return torch.linalg.solve_triangular(factor, gradient, upper=False)  # ok: CG307


def precondition_unchecked(gradient: torch.Tensor, covariance: torch.Tensor) -> torch.Tensor:
    factor, _ = torch.linalg.cholesky_ex(covariance)  # ok: CG307
    return torch.cholesky_solve(gradient, factor)  # ok: CG307


def whiten(x: torch.Tensor) -> torch.Tensor:
    values, vectors = torch.linalg.eigh(x.T @ x)  # expect: CG307
    return x @ vectors / values.sqrt()


def converged(old: torch.Tensor, new: torch.Tensor):
    return torch.allclose(old, new, atol=1e-5)  # expect: CG307


def close_on_device(old: torch.Tensor, new: torch.Tensor):
    return torch.isclose(old, new, atol=1e-5).all()  # ok: CG307
