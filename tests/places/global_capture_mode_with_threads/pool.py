"""Shared helpers: whoever builds a graph with them does so beside the threads of the caller."""

import threading

import torch


def start(target, *args):
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def upload(items, out: list):
    for item in items:
        out.append(torch.as_tensor(item).to("cuda"))
