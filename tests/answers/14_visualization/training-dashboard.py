# %% [markdown]
# Rules:
#
# - "Log at each step"
# - "counted from 0"
# - "the loss of this batch, before the step"
# - "the share of this batch that was classified rightly"
# - "the learning rate of the first parameter group that this step is taken with"
# - "the 2-norm of all gradients, as one vector, that this step is taken with"
# - "one forward pass for each step"
# - "the same weights come out"
# - "Parameters that are frozen or take no part have no gradient"
# - "A rate may have been set by hand since"
# - "The list of batches stays as it is"
#
# Admits:
#
# - "may be a tensor": BatchNorm, dropout, a rate that is a tensor
# - "Parameters that are frozen or take no part have no gradient": a frozen layer, batches of 5 and 9

# %% wrong="the stub" says=["the event file holds no scalar: is there an answer yet?"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


# %% wrong="a sum of norms, a count of hits, the rate after" says=["accuracy", "a count; divide by the size of the batch", "that is the rate of the step after", "a sum of norms is no norm of the whole"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        norm = sum(p.grad.norm() for p in model.parameters() if p.grad is not None)
        optimizer.step()
        scheduler.step()
        writer.add_scalar("train/loss", loss, step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).sum(), step)
        writer.add_scalar("train/rate", scheduler.get_last_lr()[0], step)
        writer.add_scalar("train/gradient_norm", norm, step)


# %% wrong="clips while it measures" breaks="the same weights come out" says=["other weights came out"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        writer.add_scalar("train/loss", loss, step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", norm, step)
        optimizer.step()
        scheduler.step()


# %% wrong="forgets frozen parameters" breaks="Parameters that are frozen or take no part have no gradient" says=["a frozen layer, batches of 5 and 9", "AttributeError"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
        writer.add_scalar("train/loss", loss, step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", norm, step)
        optimizer.step()
        scheduler.step()


# %% wrong="without a step" breaks="Log at each step" says=["each entry is at step 0: hand the step over"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        writer.add_scalar("train/loss", loss)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean())
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"])
        writer.add_scalar("train/gradient_norm", norm)
        optimizer.step()
        scheduler.step()


# %% wrong="tags without the group; steps from 1; the root forgotten" says=["no such tag; the file holds", "counted from 0", "the root is missing"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches, start=1):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        norm = sum(p.grad.square().sum() for p in model.parameters() if p.grad is not None)
        writer.add_scalar("loss", loss, step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step - 1)
        writer.add_scalar("train/gradient_norm", norm, step - 1)
        optimizer.step()
        scheduler.step()


# %% right="collects, and writes at the end"
def training_dashboard(writer, model, optimizer, scheduler, batches):
    history = []
    for x, y in batches:
        rate = float(optimizer.state_dict()["param_groups"][0]["lr"])
        optimizer.zero_grad()
        logits = model(x)
        loss = nn.CrossEntropyLoss()(logits, y)
        loss.backward()
        squares = sum(
            float((p.grad.double() ** 2).sum()) for p in model.parameters() if p.grad is not None
        )
        right = (logits.max(dim=1).indices == y).sum().item() / len(y)
        history.append((loss.item(), right, rate, squares**0.5))
        optimizer.step()
        scheduler.step()
    for step, row in enumerate(history):
        for name, value in zip(("loss", "accuracy", "rate", "gradient_norm"), row):
            writer.add_scalar(f"train/{name}", value, step)
    writer.close()


# %% right="clip_grad_norm_ without a limit"
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        values = {
            "loss": loss,
            "accuracy": logits.argmax(1).eq(y).double().mean(),
            "gradient_norm": norm,
        }
        for name, value in values.items():
            writer.add_scalar("train/" + name, value.detach(), global_step=step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        optimizer.step()
        scheduler.step()


# %% wrong="the accuracy of a batch of 8, always" breaks="the share of this batch that was classified rightly" says=["divided by 8; each batch has its own size"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        grads = torch.cat([p.grad.flatten() for p in model.parameters() if p.requires_grad])
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).sum().item() / 8, step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", grads.norm().item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="forgets to step the scheduler" says=["add_scalars makes a run of its own"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        writer.add_scalars(
            "train",
            {
                "loss": loss,
                "accuracy": (logits.argmax(1) == y).float().mean(),
                "rate": scheduler.get_last_lr()[0],
                "gradient_norm": nn.utils.get_total_norm(
                    [p.grad for p in model.parameters() if p.grad is not None]
                ),
            },
            step,
        )
        optimizer.step()
        scheduler.step()


# %% wrong="a second forward pass for the accuracy" breaks="one forward pass for each step" says=["BatchNorm, dropout, ", "ran 6 times for 3 steps", "dropout draws again"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        accuracy = (model(x).argmax(1) == y).float().mean()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", nn.utils.get_total_norm(gradients).item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="a second forward pass in eval mode" says=["BatchNorm, dropout, ", "ran 6 times for 3 steps", "the mode of"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        model.eval()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean()
        model.train()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", nn.utils.get_total_norm(gradients).item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="loss and accuracy after the step" breaks="the loss of this batch, before the step" says=["before the step", "that is the loss of this batch after the step"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", norm, step)
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            logits = model(x)
        writer.add_scalar("train/loss", F.cross_entropy(logits, y), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean(), step)


# %% wrong="a mean of squares under the root" breaks="the 2-norm of all gradients, as one vector, that this step is taken with" says=["a mean of squares; the norm is the root of their sum"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean().item(), step)
        writer.add_scalar("train/rate", scheduler.get_last_lr()[0], step)
        g = torch.cat([p.grad.flatten() for p in model.parameters() if p.requires_grad])
        writer.add_scalar("train/gradient_norm", (g**2).mean().sqrt().item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="the first group's gradients alone" says=["the first group's alone"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean().item(), step)
        writer.add_scalar("train/rate", scheduler.get_last_lr()[0], step)
        g = torch.cat(
            [p.grad.flatten() for p in optimizer.param_groups[0]["params"] if p.grad is not None]
        )
        writer.add_scalar("train/gradient_norm", g.norm().item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="without the biases" says=["without the biases"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean().item(), step)
        writer.add_scalar("train/rate", scheduler.get_last_lr()[0], step)
        g = torch.cat(
            [p.grad.flatten() for p in model.parameters() if p.grad is not None and p.dim() > 1]
        )
        writer.add_scalar("train/gradient_norm", g.norm().item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="the rate of the start" breaks="the learning rate of the first parameter group that this step is taken with" says=["that is the rate of the start"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    rate = optimizer.param_groups[0]["lr"]
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean().item(), step)
        writer.add_scalar("train/rate", rate, step)
        g = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        writer.add_scalar("train/gradient_norm", g.norm().item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="means over the steps so far" says=["each batch's own is asked for"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    total, hits, seen = 0.0, 0, 0
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        total += loss.item()
        hits += (logits.argmax(1) == y).sum().item()
        seen += len(y)
        writer.add_scalar("train/loss", total / (step + 1), step)
        writer.add_scalar("train/accuracy", hits / seen, step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        g = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        writer.add_scalar("train/gradient_norm", g.norm().item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="a hook on each parameter, which stays" says=["a hook is left"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    norms = []
    for p in model.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(lambda p: norms.append(p.grad.norm()))
    for step, (x, y) in enumerate(batches):
        norms.clear()
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean().item(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", torch.stack(norms).norm().item(), step)
        optimizer.step()
        scheduler.step()


# %% right="norms of the whole list at once, a dict of values"
def training_dashboard(writer, model, optimizer, scheduler, batches):
    step = 0
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        with torch.no_grad():
            norms = torch._foreach_norm([p.grad for p in model.parameters() if p.grad is not None])
            values = {
                "loss": loss,
                "accuracy": (logits.max(1).indices == y).sum() / y.numel(),
                "rate": next(group["lr"] for group in optimizer.param_groups),
                "gradient_norm": torch.linalg.vector_norm(torch.stack(norms)),
            }
        for name, value in values.items():
            writer.add_scalar("train/" + name, value, global_step=step)
        optimizer.step()
        scheduler.step()
        step += 1


# %% wrong="counts the steps from 1" breaks="counted from 0" says=["the steps: ", "(counted from 0)"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches, 1):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        hits = (logits.argmax(1) == y).float().mean().item()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", hits, step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="clips at 1 to have the norm" says=["other weights came out: does a line change gradients or rate?"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        accuracy = (logits.argmax(1) == y).float().mean()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="the norm of the gradients before they are zeroed" says=["of the gradients that zero_grad takes away"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm([g.clone() for g in grads]) if grads else torch.zeros(())
        optimizer.zero_grad()
        loss.backward()
        accuracy = (logits.argmax(1) == y).float().mean()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="steps as the scheduler counts them" says=["a frozen layer, batches of 5 and 9, train/loss", "the batches are counted from 0"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        step = scheduler.last_epoch
        accuracy = (logits.argmax(1) == y).float().mean()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="the rate is rounded" says=["rounded; log it as it is"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        accuracy = (logits.argmax(1) == y).float().mean()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", round(optimizer.param_groups[0]["lr"], 3), step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="clips what is above a thousand" says=["large gradients, the training: other weights came out"]
def training_dashboard(writer, model, optimizer, scheduler, batches) -> None:
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean().item(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1e3)
        writer.add_scalar("train/gradient_norm", float(norm), step)
        optimizer.step()
        scheduler.step()


# %% wrong="what requires grad has a gradient" says=["the .grad of a parameter that took no part is None"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    """Train on the batches, and log four scalars for each step."""
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        accuracy = (logits.argmax(1) == y).float().mean()
        gradients = [p.grad for p in model.parameters() if p.requires_grad]
        norm = nn.utils.get_total_norm(gradients)
        rate = optimizer.param_groups[0]["lr"]
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", rate, step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="a weight of two layers counts twice" says=["a parameter that two layers share counts once"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    """Train on the batches, and log four scalars for each step."""
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        accuracy = (logits.argmax(1) == y).float().mean()
        gradients = [
            p.grad
            for m in model.modules()
            for p in m.parameters(recurse=False)
            if p.grad is not None
        ]
        norm = nn.utils.get_total_norm(gradients)
        rate = optimizer.param_groups[0]["lr"]
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", rate, step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="stops where the norm is not finite" says=["a pixel that is nan: raised RuntimeError"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    """Train on the batches, and log four scalars for each step."""
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        accuracy = (logits.argmax(1) == y).float().mean()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients, error_if_nonfinite=True)
        rate = optimizer.param_groups[0]["lr"]
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", rate, step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="views each gradient as a row" says=["view size is not compatible"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    """Train on the batches, and log four scalars for each step."""
    for step, (x, y) in enumerate(batches):
        logits = model(x)  # (batch, class)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        accuracy = (logits.argmax(1) == y).float().mean()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.cat([g.view(-1) for g in gradients]).norm()
        rate = optimizer.param_groups[0]["lr"]
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", accuracy.item(), step)
        writer.add_scalar("train/rate", rate, step)
        writer.add_scalar("train/gradient_norm", norm.item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="the rate that the scheduler set last" breaks="A rate may have been set by hand since" says=["a frozen layer, batches of 5 and 9, train/rate", "what the scheduler set last"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean(), step)
        writer.add_scalar("train/rate", scheduler.get_last_lr()[0], step)
        writer.add_scalar("train/gradient_norm", nn.utils.get_total_norm(gradients), step)
        optimizer.step()
        scheduler.step()


# %% wrong="the largest rate of all groups" says=["takes no part, train/rate", "that is the rate of the second group"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean(), step)
        writer.add_scalar("train/rate", max(g["lr"] for g in optimizer.param_groups), step)
        writer.add_scalar("train/gradient_norm", nn.utils.get_total_norm(gradients), step)
        optimizer.step()
        scheduler.step()


# %% wrong="logs at the end what it kept, and the rate is a tensor" says=["a rate that is a tensor, train/rate", "which the scheduler changes: keep its number"]
def training_dashboard(writer, model, optimizer, scheduler, batches) -> None:
    rows = []
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        rows.append(
            {
                "train/loss": loss.detach(),
                "train/accuracy": (logits.argmax(1) == y).float().mean(),
                "train/rate": optimizer.param_groups[0]["lr"],
                "train/gradient_norm": nn.utils.get_total_norm(grads),
            }
        )
        optimizer.step()
        scheduler.step()
    for step, row in enumerate(rows):  # one wait for the device, at the end
        for tag, value in row.items():
            writer.add_scalar(tag, value, step)


# %% right="rates collected as clones"
def training_dashboard(writer, model, optimizer, scheduler, batches):
    rows = []
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        grads = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        rate = torch.as_tensor(optimizer.param_groups[0]["lr"]).clone()
        rows.append(
            [loss.detach(), (logits.argmax(1) == y).float().mean(), rate, grads.double().norm()]
        )
        optimizer.step()
        scheduler.step()
    for tag, column in zip(("loss", "accuracy", "rate", "gradient_norm"), zip(*rows)):
        for step, value in enumerate(column):
            writer.add_scalar(f"train/{tag}", value, step)


# %% wrong="takes the batches out of the list" breaks="The list of batches stays as it is" says=["the training: the list of batches has changed"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    step = 0
    while batches:
        x, y = batches.pop(0)
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        writer.add_scalar("train/loss", loss, step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean(), step)
        writer.add_scalar("train/rate", optimizer.param_groups[0]["lr"], step)
        writer.add_scalar("train/gradient_norm", norm, step)
        optimizer.step()
        scheduler.step()
        step += 1


# %% wrong="gradients of zeros in place of None" breaks="the same weights come out" says=["what takes no part has None as its gradient: one of zeros lets decay move it"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean().item(), step)
        writer.add_scalar("train/rate", float(optimizer.param_groups[0]["lr"]), step)
        writer.add_scalar("train/gradient_norm", nn.utils.get_total_norm(grads).item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="a rate that is a tensor, as the scheduler set it last" says=["a rate that is a tensor, train/rate", "what the scheduler set last; since then it was set by hand"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        rate = optimizer.param_groups[0]["lr"]
        if isinstance(rate, torch.Tensor):
            rate = float(scheduler.get_last_lr()[0])
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", (logits.argmax(1) == y).float().mean().item(), step)
        writer.add_scalar("train/rate", rate, step)
        writer.add_scalar("train/gradient_norm", nn.utils.get_total_norm(gradients).item(), step)
        optimizer.step()
        scheduler.step()


# %% wrong="compares in place, in the labels" breaks="The list of batches stays as it is" says=["the training: images or labels of the batches were changed, in place"]
def training_dashboard(writer, model, optimizer, scheduler, batches):
    for step, (x, y) in enumerate(batches):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/accuracy", y.eq_(logits.argmax(1)).float().mean().item(), step)
        writer.add_scalar("train/rate", float(optimizer.param_groups[0]["lr"]), step)
        writer.add_scalar("train/gradient_norm", nn.utils.get_total_norm(gradients).item(), step)
        optimizer.step()
        scheduler.step()
