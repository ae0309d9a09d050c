# %% [markdown]
# Rules:
#
# - "the formula above"
# - "as a scalar tensor"
# - "in the dtype of the logits"
# - "computed in nothing less exact"
# - "Both parts are means over the n samples"
# - "The cross-entropy uses no temperature"
# - "No gradient flows to the teacher"
# - "all arguments stay as they are, `requires_grad` too"
# - "Logits may be large (1000)"
#
# Admits:
#
# - "in the dtype of the logits": torch.bfloat16
# - "computed in nothing less exact": float64, logits far apart
# - "Logits may be large (1000)": logits in the thousands
# - "if the teacher's logits equal the student's": a teacher that equals the student, alpha = 1

# %% wrong="without T squared" breaks="the formula above" says=["the factor T squared is missing"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student / temperature, dim=1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="T once" says=["the factor is T instead of T squared"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student / temperature, dim=1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="the divergence the wrong way round" says=["F.kl_div takes the student first"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student / temperature, dim=1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=1)
    divergence = F.kl_div(soft, own, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="the default reduction" says=["averaged over the classes too"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student / temperature, dim=1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="mean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="gradient to the teacher" breaks="No gradient flows to the teacher" says=["a gradient flows to the teacher"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student / temperature, dim=1)
    soft = F.log_softmax(teacher / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="the student stays cold" says=["the student's logits are not divided by T"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student, dim=1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="alpha the other way round" says=["alpha weighs the teacher's part"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student / temperature, dim=1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return (1 - alpha) * temperature**2 * divergence + alpha * F.cross_entropy(student, labels)


# %% wrong="the labels at temperature too" breaks="The cross-entropy uses no temperature" says=["with the labels uses no temperature"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student / temperature, dim=1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(
        student / temperature, labels
    )


# %% wrong="the logarithm of a softmax" breaks="Logits may be large (1000)" says=["for large logits alone: a softmax that became 0, and its logarithm?"]
def distill(student, teacher, labels, temperature, alpha):
    p = (teacher.detach() / temperature).softmax(1)
    q = (student / temperature).softmax(1)
    divergence = (p * (p.log() - q.log())).sum(1).mean()
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% right="cross-entropy minus entropy, under no_grad"
def distill(student, teacher, labels, temperature, alpha):
    with torch.no_grad():
        log_p = torch.log_softmax(teacher / temperature, dim=-1)
        p = log_p.exp()
        entropy = -(p * log_p).sum(-1).mean()
    cross = F.cross_entropy(student / temperature, p)
    hard = nn.CrossEntropyLoss()(student, labels)
    return (1 - alpha) * hard + alpha * temperature * temperature * (cross - entropy)


# %% right="torch.distributions and logsumexp"
def distill(student, teacher, labels, temperature, alpha):
    from torch.distributions import Categorical

    t = Categorical(logits=teacher.detach() / temperature, validate_args=False)
    s = Categorical(logits=student / temperature, validate_args=False)
    rows = torch.arange(len(labels), device=labels.device)
    hard = torch.logsumexp(student, 1) - student[rows, labels]
    soft = (t.probs * (t.logits - s.logits)).sum(1)
    return (alpha * temperature**2 * soft + (1 - alpha) * hard).sum() / len(labels)


# %% wrong="a sum over the batch" breaks="Both parts are means over the n samples" says=["summed over the samples"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(own, soft, reduction="sum", log_target=True)
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="softmax on the classes of dim 0" says=["the softmax runs over the samples"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(0)
    soft = (teacher.detach() / temperature).softmax(0)
    kl = F.kl_div(own, soft, reduction="batchmean")
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="under no_grad" says=["no gradient flows back"]
@torch.no_grad()
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher / temperature).log_softmax(1)
    kl = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% right="sample by sample with logsumexp"
def distill(student, teacher, labels, temperature, alpha):
    total = 0
    for s, t, y in zip(student, teacher.detach(), labels):
        ls, lt = (
            s / temperature - (s / temperature).logsumexp(0),
            t / temperature - (t / temperature).logsumexp(0),
        )
        soft = torch.dot(lt.exp(), lt - ls)
        hard = s.logsumexp(0) - s[y]
        total = total + alpha * temperature * temperature * soft + (1 - alpha) * hard
    return total / len(labels)


# %% wrong="log_target forgotten" says=["the loss is NaN for small logits too", "log_target=True"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(own, soft, reduction="batchmean")
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="freezes the caller's teacher" breaks="all arguments stay as they are, `requires_grad` too" says=["requires_grad of the teacher was changed"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.requires_grad_(False) / temperature).log_softmax(1)
    kl = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="two slips at once" says=["4 samples, 3 classes, T = 1.0, alpha = 0.5: with alpha = 0 it is right"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(own, soft, reduction="mean", log_target=True)
    return alpha * temperature * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="the divergence in float32, whatever comes" breaks="computed in nothing less exact" says=["float64: the loss"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student.float() / temperature, dim=1)
    soft = F.log_softmax(teacher.detach().float() / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="a whole temperature, squared" says=["T = 2.5"]
def distill(student, teacher, labels, temperature, alpha):
    own = F.log_softmax(student / temperature, dim=1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * int(temperature) ** 2 * divergence + (1 - alpha) * F.cross_entropy(
        student, labels
    )


# %% wrong="float32 for half logits" says=["the dtype of the loss"]
def distill(student, teacher, labels, temperature, alpha):
    if student.dtype in (torch.float16, torch.bfloat16):
        student, teacher = student.float(), teacher.float()
    s = (student / temperature).log_softmax(1)
    t = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(s, t, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="float64 throughout" breaks="in the dtype of the logits" says=["the dtype of the loss"]
def distill(student, teacher, labels, temperature, alpha):
    student, teacher = student.double(), teacher.double()
    s = (student / temperature).log_softmax(1)
    t = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(s, t, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="a temperature of at least 1" says=["T = 0.5"]
def distill(student, teacher, labels, temperature, alpha):
    temperature = max(temperature, 1.0)
    s = (student / temperature).log_softmax(1)
    t = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(s, t, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="the teacher's softmax bounded from below" says=["float64, logits far apart", "a softmax that was bounded before its logarithm"]
def distill(student, teacher, labels, temperature, alpha):
    s = (student / temperature).log_softmax(1)
    t = (teacher.detach() / temperature).softmax(1).clamp(min=1e-7).log()
    kl = F.kl_div(s, t, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="T squared on both parts" says=["T squared belongs to the teacher's part alone"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return temperature**2 * (alpha * kl + (1 - alpha) * F.cross_entropy(student, labels))


# %% wrong="the labels' part unweighted" says=["the labels' part has the weight 1 - alpha"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * kl + F.cross_entropy(student, labels)


# %% wrong="a cross-entropy for the divergence" says=["less by the teacher's entropy"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).softmax(1)
    ce = -(soft * own).sum(1).mean()
    return alpha * temperature**2 * ce + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="a loss for each sample" breaks="as a scalar tensor" says=["the loss has shape (4,), expected ()"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    kl = F.kl_div(own, soft, reduction="none", log_target=True).sum(1)
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(
        student, labels, reduction="none"
    )


# %% right="the teacher's probabilities as the target"
def distill(student, teacher, labels, temperature, alpha):
    with torch.no_grad():
        target = F.softmax(teacher / temperature, dim=-1)
    kl = F.kl_div(F.log_softmax(student / temperature, dim=-1), target, reduction="sum") / len(
        labels
    )
    hard = F.nll_loss(F.log_softmax(student, dim=-1), labels)
    return (1 - alpha) * hard + alpha * kl * temperature * temperature


# %% wrong="multiplies by the temperature" says=["multiplied by T, where they are divided"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student * temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="two to the power of T" says=["the factor is 2 to the power of T"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * 2**temperature * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="takes the labels' part off" says=["the labels' part is taken off"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence - (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="forgets old gradients" judge="differs" says=["an old .grad of the student was changed"]
def distill(student, teacher, labels, temperature, alpha):
    student.grad = None
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="the teacher keeps its logits" says=["the teacher's logits are not divided by T"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = teacher.detach().log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="the teacher gets hotter" says=["the teacher's logits are multiplied by T"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() * temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="divides by T squared" says=["the divergence is divided by T squared"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha / temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="leaves the labels out" says=["with alpha = 1 it is right, and so is the teacher's part"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence


# %% wrong="T to the power of three" says=["with alpha = 0 it is right, and so is the labels' part"]
def distill(student, teacher, labels, temperature, alpha):
    own = (student / temperature).log_softmax(1)
    soft = (teacher.detach() / temperature).log_softmax(1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**3 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="both logits times the temperature" says=["the logits are multiplied by T"]
def distill(student, teacher, labels, temperature, alpha):
    teacher = teacher.detach()
    soft = F.kl_div(
        F.log_softmax(student * temperature, 1),
        F.log_softmax(teacher * temperature, 1),
        reduction="batchmean",
        log_target=True,
    )
    return alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="squared difference of logits" says=["a squared difference of logits"]
def distill(student, teacher, labels, temperature, alpha):
    teacher = teacher.detach()
    soft = F.mse_loss(student / temperature, teacher / temperature)
    return alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="the labels' part summed" says=["the labels' part is summed over the samples"]
def distill(student, teacher, labels, temperature, alpha):
    teacher = teacher.detach()
    soft = F.kl_div(
        F.log_softmax(student / temperature, 1),
        F.log_softmax(teacher / temperature, 1),
        reduction="batchmean",
        log_target=True,
    )
    return alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(
        student, labels, reduction="sum"
    )


# %% wrong="student without a gradient in the soft part" says=["the teacher's part gives the student none"]
def distill(student, teacher, labels, temperature, alpha):
    soft = F.kl_div(
        (student.detach() / temperature).log_softmax(1),
        (teacher.detach() / temperature).log_softmax(1),
        reduction="batchmean",
        log_target=True,
    )
    hard = F.cross_entropy(student, labels)
    return alpha * temperature**2 * soft + (1 - alpha) * hard


# %% wrong="student without a gradient in the hard part" says=["the labels' part gives the student none"]
def distill(student, teacher, labels, temperature, alpha):
    soft = F.kl_div(
        (student / temperature).log_softmax(1),
        (teacher.detach() / temperature).log_softmax(1),
        reduction="batchmean",
        log_target=True,
    )
    hard = F.cross_entropy(student.detach(), labels)
    return alpha * temperature**2 * soft + (1 - alpha) * hard


# %% wrong="equal logits are no loss" says=["alpha = 0.25", "the labels' part alone"]
def distill(student, teacher, labels, temperature, alpha):
    if torch.equal(student, teacher):
        return (student * 0).sum()
    s, t = student.double(), teacher.detach().double()
    soft = F.kl_div(
        (s / temperature).log_softmax(1),
        (t / temperature).log_softmax(1),
        reduction="batchmean",
        log_target=True,
    )
    return (alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(s, labels)).to(
        student.dtype
    )


# %% wrong="squeezes one sample" says=["as if they were samples: does squeeze() take the batch's axis away?"]
def distill(student, teacher, labels, temperature, alpha):
    student, teacher = student.squeeze(), teacher.squeeze()
    own = F.log_softmax(student / temperature, dim=-1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=-1)
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="T squared cut off at 100" breaks="the formula above" says=["T = 20.0"]
def distill(student, teacher, labels, temperature, alpha):
    own = student.double()
    log_p = (teacher.detach().double() / temperature).log_softmax(1)
    log_q = (own / temperature).log_softmax(1)
    soft = F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    hard = F.cross_entropy(own, labels)
    return (alpha * min(temperature, 10) ** 2 * soft + (1 - alpha) * hard).to(student.dtype)


# %% wrong="the temperature rounded to float32" breaks="computed in nothing less exact" says=["float64: the loss, right to four digits or so only"]
def distill(student, teacher, labels, temperature, alpha):
    warm = torch.tensor(temperature).item()
    log_q = (student / warm).log_softmax(1)
    log_p = (teacher.detach() / warm).log_softmax(1)
    soft = F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="distributions, whose probabilities become 0" says=["the loss is NaN or infinite for large logits alone"]
def distill(student, teacher, labels, temperature, alpha):
    from torch.distributions import Categorical, kl_divergence

    wide = student.double()
    expert = Categorical(logits=teacher.detach().double() / temperature)
    soft = kl_divergence(expert, Categorical(logits=wide / temperature)).mean()
    loss = alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(wide, labels)
    return loss.to(student.dtype)


# %% wrong="a temperature of 1 at least" says=["a temperature below 1 was taken for 1"]
def distill(student, teacher, labels, temperature, alpha):
    temperature = max(temperature, 1.0)
    own, soft = ((z / temperature).log_softmax(1) for z in (student, teacher.detach()))
    divergence = F.kl_div(own, soft, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * divergence + (1 - alpha) * F.cross_entropy(student, labels)


# %% wrong="logits cut off at 100" breaks="Logits may be large (1000)" says=["right for small logits, and not for those in the thousands", "clamp()"]
def distill(student, teacher, labels, temperature, alpha):
    own, his = student.clamp(-100, 100), teacher.detach().clamp(-100, 100)
    log_q, log_p = ((z / temperature).log_softmax(1) for z in (own, his))
    soft = F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    return alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(own, labels)
